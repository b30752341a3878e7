#include "cli/model/predict_rows.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/model/print_assessment.h"
#include "cli/terminal/counter.h"
#include "cli/terminal/output.h"
#include "cli/terminal/text.h"
#include "veche/base/files/files.h"
#include "veche/data/table/row_file.h"
#include "veche/errors.h"
#include "veche/runtime/inference/assessment.h"
#include "veche/runtime/inference/prediction.h"

namespace veche::cli {
namespace {

using RowsJson = nlohmann::ordered_json;

constexpr std::size_t kMostShown = 1000;  // rows printed without --out

// A cell of CSV.
std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return text;
  std::string result = "\"";
  for (const char c : text) result += c == '"' ? std::string("\"\"") : std::string(1, c);
  return result + "\"";
}

// One answer, in each of the forms.
class RowAnswers {
 public:
  RowAnswers(TrainedModel& model, const PredictRows& request)
      : model_(model),
        request_(request),
        input_(model.input()),
        numbers_(input_.task == Task::regression),
        table_(numbers_ ? std::vector<std::string>{"row", input_.table->target.name}
                        : std::vector<std::string>{"row", "class", "probability", "then"}),
        assessment_(numbers_ ? 1 : static_cast<std::size_t>(model.classes())) {
    if (request.out.empty()) return;
    place_ = place_of(request.out);
    unfinished_ = place_;
    unfinished_ += ".new";
    file_.emplace(unfinished_, place_);
    std::string head = "file,line," + quoted(input_.table->target.name);
    if (!numbers_)
      for (std::size_t label = 0; label < classes(); ++label)
        head += "," + quoted("p(" + input_.name_of(label) + ")");
    text_ = head + ",truth,error\n";
  }
  ~RowAnswers() {
    std::error_code ignored;
    if (file_) std::filesystem::remove(unfinished_, ignored);
  }
  RowAnswers(const RowAnswers&) = delete;
  RowAnswers& operator=(const RowAnswers&) = delete;

  void add(const std::string& file, std::vector<RowFile::Row> rows) {
    std::vector<float> samples;
    std::size_t good = 0;
    for (const RowFile::Row& row : rows) {
      samples.insert(samples.end(), row.sample.begin(), row.sample.end());
      good += row.sample.empty() ? 0 : 1;
    }
    std::vector<float> answers(good * classes());
    if (good > 0) model_.predict(samples, answers);
    std::span<const float> left = answers;
    for (const RowFile::Row& row : rows) {
      const std::size_t mine = row.sample.empty() ? 0 : classes();
      take(file, row, left.first(mine));
      left = left.subspan(mine);
    }
    flush();
  }

  void finish(RowsJson& json) {
    if (file_) {
      flush();
      file_->sync();
      file_.reset();
      rename_durably(unfinished_, place_);
    }
    if (request_.json)
      finish_json(json);
    else
      print();
  }

  std::size_t damaged() const { return damaged_; }

 private:
  std::size_t classes() const { return static_cast<std::size_t>(model_.classes()); }

  void take(const std::string& file, const RowFile::Row& row, std::span<const float> answer) {
    ++count_;
    if (answer.empty()) {
      ++damaged_;
    } else if (numbers_ && row.value) {
      add_error(score_, *row.value, answer.front());
    } else if (!numbers_ && row.label) {
      assessment_.add(*row.label, answer);
    }
    if (file_)
      write(file, row, answer);
    else if (request_.json)
      answers_.push_back(to_json(file, row, answer));
    else if (count_ <= kMostShown)
      show(file, row, answer);
  }

  void write(const std::string& file, const RowFile::Row& row, std::span<const float> answer) {
    text_ += fmt::format("{},{},", quoted(file), row.line);
    if (!answer.empty())
      text_ += numbers_ ? fmt::format("{}", answer.front()) : quoted(input_.name_of(best_of(answer)));
    for (std::size_t label = 0; !numbers_ && label < classes(); ++label)
      text_ += answer.empty() ? "," : fmt::format(",{}", answer[label]);
    text_ += ",";
    if (row.label) text_ += quoted(input_.name_of(*row.label));
    if (row.value) text_ += fmt::format("{}", *row.value);
    text_ += "," + quoted(row.damage) + "\n";
  }

  void flush() {
    if (file_) file_->write(std::as_bytes(std::span(text_)));
    text_.clear();
  }

  RowsJson to_json(const std::string& file, const RowFile::Row& row, std::span<const float> answer) const {
    RowsJson json{{"file", file}, {"line", row.line}};
    if (answer.empty()) {
      json["error"] = row.damage;
      return json;
    }
    json.update(prediction_json(input_, answer, request_.top));
    if (row.label) json["truth"] = *row.label;
    if (row.value) json["truth"] = *row.value;
    return json;
  }

  void show(const std::string& file, const RowFile::Row& row, std::span<const float> answer) {
    std::vector<std::string> cells{fmt::format("{}:{}", one_line(file), row.line)};
    if (answer.empty()) {
      cells.push_back(one_line(row.damage));
    } else if (numbers_) {
      cells.push_back(fmt::format("{:g}", answer.front()));
    } else {
      const auto best = ranked(answer, request_.top);
      cells.push_back(one_line(input_.name_of(best.front())));
      cells.push_back(fmt::format("{:.1f} %", 100 * answer[best.front()]));
      std::string then;
      for (std::size_t i = 1; i < best.size(); ++i)
        then += fmt::format("{}{} {:.1f} %", then.empty() ? "" : ", ", one_line(input_.name_of(best[i])),
                            100 * answer[best[i]]);
      cells.push_back(std::move(then));
    }
    while (cells.size() < (numbers_ ? 2U : 4U)) cells.emplace_back();
    table_.row(std::move(cells));
  }

  std::vector<std::string> class_names() const {
    std::vector<std::string> names;
    for (std::size_t label = 0; label < classes(); ++label) names.push_back(input_.name_of(label));
    return names;
  }

  void finish_json(RowsJson& json) {
    if (request_.out.empty()) json["predictions"] = std::move(answers_);
    json["rows"] = count_;
    if (score_.count > 0) json["assessment"] = cli::to_json(score_);
    if (assessment_.count() > 0) json["assessment"] = assessment_.to_json(class_names());
  }

  void print() {
    if (request_.out.empty()) answer("\n{}", table_.text());
    if (request_.out.empty() && count_ > kMostShown)
      answer("and {} more rows; --out FILE.csv writes all\n", with_commas(count_ - kMostShown));
    if (!request_.out.empty()) answer("{} answers are in {}\n", with_commas(count_ - damaged_), request_.out);
    if (score_.count > 0) answer("\n{}\n", describe(score_));
    if (assessment_.count() > 0) print_assessment(assessment_, class_names());
  }

  TrainedModel& model_;
  const PredictRows& request_;
  const ModelInput& input_;
  const bool numbers_;
  Table table_;
  RowsJson answers_ = RowsJson::array();
  std::filesystem::path place_, unfinished_;
  std::optional<OutputFile> file_;
  std::string text_;
  Assessment assessment_;
  Score score_;
  std::size_t count_ = 0, damaged_ = 0;
};

}  // namespace

std::size_t predict_rows(TrainedModel& model, const PredictRows& request, RowsJson& json) {
  std::vector<std::unique_ptr<RowFile>> files;  // all are opened before the first is answered
  for (const std::string& file : request.files)
    files.push_back(std::make_unique<RowFile>(file, *model.input().table));
  Counter counter("predicting", "rows", request.json);
  RowAnswers answers(model, request);
  std::size_t done = 0;
  for (std::size_t i = 0; i < files.size(); ++i)
    for (std::vector<RowFile::Row> rows = files[i]->next(); !rows.empty(); rows = files[i]->next()) {
      done += rows.size();
      answers.add(request.files[i], std::move(rows));
      counter.show(done, done);
    }
  counter.clear();
  answers.finish(json);
  return answers.damaged();
}

void add_error(Score& score, double truth, double answer) {
  const double error = answer - truth;
  score += {.count = 1,
            .error_sum = std::abs(error),
            .squared_error_sum = error * error,
            .target_sum = truth,
            .squared_target_sum = truth * truth};
}

nlohmann::ordered_json to_json(const Score& score) {
  return {{"count", score.count}, {"rmse", score.rmse()}, {"mae", score.mae()}, {"r2", score.r2()}};
}

std::string describe(const Score& score) {
  return fmt::format("{} rows: RMSE {:g}, MAE {:g}, R2 {:.4f}",
                     with_commas(static_cast<std::uint64_t>(score.count)), score.rmse(), score.mae(),
                     score.r2());
}

}  // namespace veche::cli
