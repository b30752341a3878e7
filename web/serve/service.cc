#include "web/serve/service.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "veche/data/sets/damage.h"
#include "veche/errors.h"
#include "veche/runtime/inference/prediction.h"

namespace veche::web {

extern const char kServePage[];  // the text of page.html

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

}  // namespace

PredictionService::PredictionService(const std::filesystem::path& place, const ServiceOptions& options,
                                     Guard guard)
    : guard_(std::move(guard)),
      model_(place, options.node, options.threads),
      reader_(model_.input()),
      batcher_(model_, options.limits),
      place_(place) {}

HttpReply PredictionService::counted(HttpReply reply) {
  ++by_status_[static_cast<std::size_t>(std::clamp(reply.status / 100, 0, 5))];
  return reply;
}

HttpReply PredictionService::refused(int status) {
  return counted(refusal_of_server(status, HttpOptions().most_body));
}

std::optional<HttpReply> PredictionService::admit(const HttpRequest& head) {
  auto reply = guard_.refuses(head);
  if (!reply) reply = route(head);
  if (reply) return counted(std::move(*reply));
  return std::nullopt;
}

HttpReply PredictionService::answer(const HttpRequest& request) {
  const auto start = std::chrono::steady_clock::now();
  HttpReply reply = [&] {
    try {
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

// The answer if the headers alone decide; nullopt if an image follows.
std::optional<HttpReply> PredictionService::route(const HttpRequest& head) {
  const std::string& path = head.path;
  const bool posts = path == "/predict" || path == "/nodes";
  const bool gets = path == "/" || path == "/health" || path == "/model" || path == "/metrics";
  if (!posts && !gets) return refusal(404, "no such page: POST a picture to /predict");
  const bool right = posts ? head.method == "POST" : head.method == "GET" || head.method == "HEAD";
  if (!right) {
    HttpReply reply =
        refusal(405, posts ? path + " wants a picture: POST one" : path + " is there to be read: GET it");
    reply.headers.emplace_back("Allow", posts ? "POST" : "GET, HEAD");
    return reply;
  }
  if (posts) return std::nullopt;
  if (path == "/metrics") return metrics();
  if (path == "/model") return about();
  if (path == "/health")
    return json_reply({{"status", "ok"}, {"model", model_.name()}, {"step", model_.step()}});
  return HttpReply{.type = "text/html; charset=utf-8", .body = kServePage, .headers = page_headers()};
}

std::vector<float> PredictionService::sample_of(const HttpRequest& request) const {
  if (request.body.empty())
    throw Refused{refusal(400, "the request is empty: send the bytes of a JPEG or PNG")};
  try {
    return reader_.read({reinterpret_cast<const std::uint8_t*>(request.body.data()), request.body.size()});
  } catch (const Damaged& damage) {
    throw Refused{refusal(422, fmt::format("the picture {}", damage.what()))};
  }
}

HttpReply PredictionService::predict(const HttpRequest& request) {
  const std::size_t top = top_of(request, static_cast<std::size_t>(model_.classes()));
  return json_reply(prediction_json(model_.input(), batcher_.predict(sample_of(request)), top));
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
                     {"shape", {input.shape.channels, input.shape.height, input.shape.width}},
                     {"classes", classes}});
}

HttpReply PredictionService::metrics() const {
  std::string text;
  const auto family = [&](const char* name, const char* kind, const char* help) {
    text += fmt::format("# HELP {0} {2}\n# TYPE {0} {1}\n", name, kind, help);
  };
  family("veche_http_requests_total", "counter", "Requests answered, by the hundreds of their status.");
  for (std::size_t hundreds = 1; hundreds < by_status_.size(); ++hundreds)
    text += fmt::format("veche_http_requests_total{{status=\"{}xx\"}} {}\n", hundreds,
                        by_status_[hundreds].load());
  const Batcher::Counts counts = batcher_.counts();
  family("veche_images_total", "counter", "Pictures that the served model has answered for.");
  text += fmt::format("veche_images_total {}\n", counts.images);
  family("veche_batches_total", "counter", "Passes of the model that took.");
  text += fmt::format("veche_batches_total {}\n", counts.batches);
  family("veche_predict_seconds", "histogram", "Time of answers to /predict.");
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kBounds.size(); ++i)
    text += fmt::format("veche_predict_seconds_bucket{{le=\"{}\"}} {}\n", kBounds[i], sum += times_[i]);
  sum += times_.back();
  text += fmt::format("veche_predict_seconds_bucket{{le=\"+Inf\"}} {}\n", sum);
  text += fmt::format("veche_predict_seconds_sum {}\n", static_cast<double>(microseconds_) * 1e-6);
  text += fmt::format("veche_predict_seconds_count {}\n", sum);
  family("veche_model_step", "gauge", "The step of the checkpoint that is served.");
  text += fmt::format("veche_model_step {}\n", model_.step());
  return {.type = "text/plain; version=0.0.4", .body = text};
}

}  // namespace veche::web
