#include "web/serve/service.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "veche/base/text/nesting.h"
#include "veche/data/sets/damage.h"
#include "veche/errors.h"
#include "veche/runtime/inference/prediction.h"

namespace veche::web {

extern const char kServePage[];  // the text of page.html, for pictures
extern const char kTablePage[];  // of table.html, for the rows of tables

namespace {

using AnswerJson = nlohmann::ordered_json;

HttpReply json_reply(const AnswerJson& json) {
  return {.body = json.dump(-1, ' ', false, AnswerJson::error_handler_t::replace) + "\n"};
}

// The problem with a request's image; 422 if it is not a readable image.
struct Refused {
  HttpReply reply;
};

std::size_t top_of(const HttpRequest& request, std::size_t classes) {
  const std::string word = request.query_value("top");
  if (word.empty()) return classes;
  if (word.size() > 9 || word.find_first_not_of("0123456789") != std::string::npos || std::stoul(word) == 0)
    throw Refused{refusal(400, "top must be a number of classes, 1 or more")};
  return std::stoul(word);
}

// The columns of a row that the model needs, for GET /model. "missing": some training rows lacked it.
AnswerJson columns_of(const ModelInput& input) {
  AnswerJson columns = AnswerJson::array();
  if (!input.table) return columns;
  for (const TableScheme::Column& column : input.table->columns) {
    AnswerJson one{{"name", column.name}, {"kind", word_of(column.kind)}};
    if (column.kind == ColumnKind::category) one["categories"] = column.categories;
    if (column.kind == ColumnKind::number) one["mean"] = column.mean;
    one["missing"] = column.has_missing;
    columns.push_back(std::move(one));
  }
  return columns;
}

// The rows of a request.
struct JsonRows {
  std::vector<std::vector<float>> samples;
  bool is_list = false;
};

// The value of a column as the text that a file would have; empty: it is missing.
std::string text_of(const AnswerJson& row, const std::string& column) {
  const auto cell = row.find(column);
  if (cell == row.end()) throw Damaged(fmt::format("has no {}: give its value, or null", column));
  if (cell->is_null()) return {};
  if (cell->is_string()) return cell->get<std::string>();
  if (cell->is_number() || cell->is_boolean()) return cell->dump();
  throw Damaged(fmt::format("has a {} that is neither a number nor a text", column));
}

std::vector<float> sample_of_row(const AnswerJson& row, const RowEncoder& encoder) {
  const auto& columns = encoder.scheme().columns;
  std::vector<std::string> texts;
  for (const auto& column : columns) texts.push_back(text_of(row, column.name));
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  std::vector<float> sample(encoder.scheme().width());
  encoder.encode(views, sample);
  return sample;
}

JsonRows read_rows(const std::string& body, const RowEncoder& encoder) {
  constexpr std::size_t kMostRows = 1000;
  AnswerJson json;
  try {
    check_json_nesting(body);
    json = AnswerJson::parse(body);
  } catch (const AnswerJson::exception&) {
    throw Refused{refusal(400, "send a row as JSON, such as {\"AGE\": 35, ..}, or a list of rows")};
  } catch (const RequestError& error) {
    throw Refused{refusal(400, error.what())};
  }
  JsonRows rows{.samples = {}, .is_list = json.is_array()};
  if (!rows.is_list) json = AnswerJson::array({std::move(json)});
  if (json.empty() || json.size() > kMostRows)
    throw Refused{refusal(400, fmt::format("send 1 to {} rows in a request", kMostRows))};
  for (std::size_t i = 0; i < json.size(); ++i) try {
      if (!json[i].is_object()) throw Damaged("is no object: a row is {\"column\": value, ..}");
      rows.samples.push_back(sample_of_row(json[i], encoder));
    } catch (const Damaged& damage) {
      throw Refused{refusal(422, rows.is_list ? fmt::format("row {}: {}", i + 1, damage.what())
                                              : fmt::format("the row: {}", damage.what()))};
    }
  return rows;
}

}  // namespace

PredictionService::PredictionService(const std::filesystem::path& place, const ServiceOptions& options,
                                     Guard guard)
    : CountedService(std::move(guard)),
      model_(place, options.node, options.threads),
      samples_(model_),
      reader_(model_.input().table ? std::nullopt : std::optional<PictureReader>(model_.input())),
      rows_(model_.input().table ? std::optional<RowEncoder>(*model_.input().table) : std::nullopt),
      batcher_(model_, options.limits),
      place_(place) {}

HttpReply PredictionService::answer(const HttpRequest& request) {
  const auto start = std::chrono::steady_clock::now();
  HttpReply reply = [&] {
    try {
      if (request.path == "/samples") return HttpReply{.body = samples_.json()};
      return request.path == "/predict" ? predict(request) : ask_nodes(request);
    } catch (const Refused& refused) {
      return refused.reply;
    } catch (const TooBusy& busy) {
      return refusal(503, busy.what());
    }
  }();
  if (request.path == "/predict" && reply.status == 200) {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    ++times_[static_cast<std::size_t>(std::ranges::lower_bound(kBounds, seconds) - kBounds.begin())];
    microseconds_ += static_cast<std::uint64_t>(seconds * 1e6);
  }
  return counted(std::move(reply));
}

// The answer if the headers alone decide; nullopt if an image follows, or if the answer takes long.
std::optional<HttpReply> PredictionService::route(const HttpRequest& head) {
  const std::string& path = head.path;
  const bool posts = path == "/predict" || path == "/nodes";
  const bool gets =
      path == "/" || path == "/health" || path == "/model" || path == "/metrics" || path == "/samples";
  if (!posts && !gets) return refusal(404, "no such page: POST a picture to /predict");
  const bool right = posts ? head.method == "POST" : head.method == "GET" || head.method == "HEAD";
  if (!right) {
    HttpReply reply = refusal(
        405, posts ? path + " wants a picture or a row: POST one" : path + " is there to be read: GET it");
    reply.headers.emplace_back("Allow", posts ? "POST" : "GET, HEAD");
    return reply;
  }
  if (posts || path == "/samples") return std::nullopt;
  if (path == "/metrics") return metrics();
  if (path == "/model") return about();
  if (path == "/health")
    return json_reply({{"status", "ok"}, {"model", model_.name()}, {"step", model_.step()}});
  return HttpReply{
      .type = "text/html; charset=utf-8", .body = rows_ ? kTablePage : kServePage, .headers = page_headers()};
}

std::vector<float> PredictionService::sample_of(const HttpRequest& request) const {
  if (rows_) {
    JsonRows rows = read_rows(request.body, *rows_);
    if (rows.is_list) throw Refused{refusal(400, "send one row to /nodes; /predict takes lists")};
    return std::move(rows.samples.front());
  }
  if (request.body.empty())
    throw Refused{refusal(400, "the request is empty: send the bytes of a JPEG or PNG")};
  try {
    return reader_->read({reinterpret_cast<const std::uint8_t*>(request.body.data()), request.body.size()});
  } catch (const Damaged& damage) {
    throw Refused{refusal(422, fmt::format("the picture {}", damage.what()))};
  }
}

HttpReply PredictionService::predict(const HttpRequest& request) {
  const std::size_t top = top_of(request, static_cast<std::size_t>(model_.classes()));
  if (rows_) return predict_rows(request, top);
  return json_reply(prediction_json(model_.input(), batcher_.predict(sample_of(request)), top));
}

HttpReply PredictionService::predict_rows(const HttpRequest& request, std::size_t top) {
  const JsonRows rows = read_rows(request.body, *rows_);
  std::vector<AnswerJson> answers;
  for (const std::vector<float>& sample : rows.samples)
    answers.push_back(prediction_json(model_.input(), batcher_.predict(sample), top));
  return json_reply(rows.is_list ? AnswerJson{{"answers", answers}} : answers.front());
}

HttpReply PredictionService::ask_nodes(const HttpRequest& request) {
  const std::size_t top = top_of(request, static_cast<std::size_t>(model_.classes()));
  const std::vector<float> sample = sample_of(request);
  AnswerJson json{{"served", prediction_json(model_.input(), batcher_.predict(sample), top)}};
  json["served"]["who"] = model_.who();
  json["nodes"] = AnswerJson::array();
  const int count = std::min(model_.nodes(), kMostNodes);
  if (count < 2) return json_reply(json);
  const MutexLock lock(nodes_mutex_);
  std::vector<float> probabilities(static_cast<std::size_t>(model_.classes()));
  // The run may have continued meanwhile: all answers come from one checkpoint, the newest.
  for (int attempt = 0; attempt < 3; ++attempt) try {
      if (!others_) others_.emplace(place_, NodeId{0});
      AnswerJson nodes = AnswerJson::array();
      for (int node = 0; node < count && others_->become(NodeId{node}); ++node) {
        others_->predict(sample, probabilities);
        nodes.push_back(prediction_json(model_.input(), probabilities, top));
        nodes.back()["node"] = node;
      }
      json["nodes_step"] = others_->step();
      json["nodes"] = std::move(nodes);
      if (static_cast<int>(json["nodes"].size()) == count) break;
      others_.reset();
    } catch (const Error& error) {  // such as a folder that was moved away
      others_.reset();
      return refusal(503, fmt::format("the run that is served cannot be read any more: {}", error.what()));
    }
  return json_reply(json);
}

HttpReply PredictionService::about() const {
  const ModelInput& input = model_.input();
  AnswerJson classes = AnswerJson::array();
  for (int label = 0; label < model_.classes(); ++label)
    classes.push_back(input.name_of(static_cast<std::size_t>(label)));
  return json_reply({{"name", model_.name()},
                     {"model", model_.model()},
                     {"who", model_.who()},
                     {"step", model_.step()},
                     {"nodes", model_.nodes()},
                     {"parameters", model_.parameters()},
                     {"task", to_string(input.task)},
                     {"shape", {input.shape.channels, input.shape.height, input.shape.width}},
                     {"mean", input.normalization ? AnswerJson(input.normalization->mean) : AnswerJson()},
                     {"target", input.table ? AnswerJson(input.table->target.name) : AnswerJson()},
                     {"classes", input.task == Task::regression ? AnswerJson::array() : classes},
                     {"columns", columns_of(input)}});
}

HttpReply PredictionService::metrics() const {
  std::string text = requests_by_status();
  const Batcher::Counts counts = batcher_.counts();
  text += family("veche_images_total", "counter", "Pictures that the served model has answered for.");
  text += fmt::format("veche_images_total {}\n", counts.images);
  text += family("veche_batches_total", "counter", "Passes of the model that took.");
  text += fmt::format("veche_batches_total {}\n", counts.batches);
  text += family("veche_predict_seconds", "histogram", "Time of answers to /predict.");
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kBounds.size(); ++i)
    text += fmt::format("veche_predict_seconds_bucket{{le=\"{}\"}} {}\n", kBounds[i], sum += times_[i]);
  sum += times_.back();
  text += fmt::format("veche_predict_seconds_bucket{{le=\"+Inf\"}} {}\n", sum);
  text += fmt::format("veche_predict_seconds_sum {}\n", static_cast<double>(microseconds_) * 1e-6);
  text += fmt::format("veche_predict_seconds_count {}\n", sum);
  text += family("veche_model_step", "gauge", "The step of the checkpoint that is served.");
  text += fmt::format("veche_model_step {}\n", model_.step());
  return {.type = "text/plain; version=0.0.4", .body = text};
}

}  // namespace veche::web
