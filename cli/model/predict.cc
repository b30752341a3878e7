#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/model/pictures.h"
#include "cli/model/predict_rows.h"
#include "cli/model/print_assessment.h"
#include "cli/terminal/counter.h"
#include "cli/terminal/output.h"
#include "cli/terminal/text.h"
#include "veche/base/machine/cores.h"
#include "veche/errors.h"
#include "veche/runtime/inference/assessment.h"
#include "veche/runtime/inference/prediction.h"
#include "veche/runtime/inference/trained_model.h"

namespace veche::cli {
namespace {

using PredictJson = nlohmann::ordered_json;

constexpr std::size_t kPredictedAtOnce = 100;

struct PredictArguments {
  std::string place;
  std::vector<std::string> images;
  std::string out;
  int node = -1;
  bool test = false;
  bool json = false;
  std::size_t top = 3;
};

// Collects samples into batches.
class Asked {
 public:
  using Answer = std::function<void(Pictures::One&, std::span<const float>)>;
  Asked(TrainedModel& model, Answer answer) : model_(model), answer_(std::move(answer)) {}

  void add(Pictures::One one) {
    waiting_.push_back(std::move(one));
    if (waiting_.size() == kPredictedAtOnce) answer_all();
  }

  void answer_all() {
    const auto classes = static_cast<std::size_t>(model_.classes());
    std::vector<float> images;
    std::size_t seen = 0;
    for (const Pictures::One& one : waiting_) {
      images.insert(images.end(), one.sample.begin(), one.sample.end());
      seen += one.sample.empty() ? 0 : 1;
    }
    std::vector<float> probabilities(seen * classes);
    if (seen > 0) model_.predict(images, probabilities);
    std::span<const float> left = probabilities;
    for (Pictures::One& one : waiting_) {
      const std::size_t mine = one.sample.empty() ? 0 : classes;
      answer_(one, left.first(mine));
      left = left.subspan(mine);
    }
    waiting_.clear();
  }

 private:
  TrainedModel& model_;
  const Answer answer_;
  std::vector<Pictures::One> waiting_;
};

std::vector<std::string> class_names(const TrainedModel& model) {
  std::vector<std::string> names;
  for (int label = 0; label < model.classes(); ++label)
    names.push_back(model.input().name_of(static_cast<std::size_t>(label)));
  return names;
}

// The run's own test set, if its data are those that the model was trained on.
DataSource test_data(const TrainedModel& model) {
  DataSource source = model.data();
  if (source.train->task() == Task::language)
    throw RequestError(
        fmt::format("'{}' was trained on a text: `veche generate` continues one, and its loss on the "
                    "test text is in summary.json",
                    model.name()));
  check_shape(*source.test, model.input(), source.name);
  if (model.input().class_names != input_of(source).class_names)
    throw RequestError(
        fmt::format("'{}' has other classes today than when the model was taught", source.name));
  return source;
}

void ask_test_set(const TrainedModel& model, const DataSource& source, Asked& asked, Counter& counter) {
  for (std::size_t i = 0; i < source.test->size(); ++i) {
    Pictures::One one{std::to_string(i),
                      std::vector<float>(model.input().shape.size()),
                      {},
                      static_cast<std::size_t>(source.test->label(i))};
    source.test->read(i, one.sample);
    asked.add(std::move(one));
    counter.show(i + 1, source.test->size());
  }
  asked.answer_all();
}

Score score_of_test_set(TrainedModel& model, const Dataset& test) {
  std::vector<float> samples, answers;
  Score score;
  for (std::size_t from = 0; from < test.size(); from += kPredictedAtOnce) {
    const std::size_t count = std::min(kPredictedAtOnce, test.size() - from), size = test.shape().size();
    samples.resize(count * size);
    answers.resize(count);
    for (std::size_t i = 0; i < count; ++i) test.read(from + i, std::span(samples).subspan(i * size, size));
    model.predict(samples, answers);
    for (std::size_t i = 0; i < count; ++i) add_error(score, test.values()->value(from + i), answers[i]);
  }
  return score;
}

PredictJson model_json(const TrainedModel& model) {
  return {{"name", model.name()},
          {"model", model.model()},
          {"who", model.who()},
          {"step", model.step()},
          {"parameters", model.parameters()}};
}

int predict(const PredictArguments& arguments, bool has_node) {
  if (arguments.images.empty() && !arguments.test)
    throw RequestError(
        "name pictures, folders, packed sets or tables, or ask with --test about the test set of the run");
  TrainedModel model(arguments.place, has_node ? std::optional(NodeId{arguments.node}) : std::nullopt,
                     usable_cores());
  for (const std::string& sentence : model.notices()) tell("note: {}\n", one_line(sentence));
  const bool rows = model.input().table.has_value();
  if (!rows && !arguments.out.empty())
    throw RequestError("--out is for the rows of a table, and the model sees pictures: use --json");
  std::optional<Pictures> pictures;
  if (!arguments.images.empty() && !rows) pictures.emplace(arguments.images, model.input());
  std::optional<DataSource> test;
  if (arguments.test) test = test_data(model);

  PredictJson json{{"model", model_json(model)}};
  const std::vector<std::string> names = class_names(model);
  Assessment of_pictures(names.size()), of_test(names.size());
  if (!arguments.json)
    answer("{} of {} at step {}: {}, {} parameters\n", model.who(), one_line(model.name()), model.step(),
           model.model(), with_commas(model.parameters()));
  std::size_t damaged = 0;
  if (rows && !arguments.images.empty())
    damaged = predict_rows(
        model,
        {.files = arguments.images, .out = arguments.out, .json = arguments.json, .top = arguments.top},
        json);
  if (pictures) {
    Counter counter("predicting", "images", arguments.json);
    Table table({"picture", "class", "probability", "then"});
    PredictJson answers = PredictJson::array();
    std::size_t done = 0;
    Asked asked(model, [&](Pictures::One& one, std::span<const float> probabilities) {
      if (probabilities.empty()) {
        ++damaged;
        if (arguments.json)
          answers.push_back({{"image", one.name}, {"error", one.damage}});
        else
          table.row({one_line(one.name), one_line(one.damage), "", ""});
        return;
      }
      if (one.label) of_pictures.add(*one.label, probabilities);
      if (arguments.json) {
        PredictJson answer{{"image", one.name}};
        answer.update(prediction_json(model.input(), probabilities, arguments.top));
        if (one.label) answer["truth"] = *one.label;
        answers.push_back(std::move(answer));
        return;
      }
      const auto best = ranked(probabilities, arguments.top);
      std::string then;
      for (std::size_t i = 1; i < best.size(); ++i)
        then += fmt::format("{}{} {:.1f} %", then.empty() ? "" : ", ", one_line(names[best[i]]),
                            100 * probabilities[best[i]]);
      table.row({one_line(one.name), one_line(names[best.front()]),
                 fmt::format("{:.1f} %", 100 * probabilities[best.front()]), then});
    });
    pictures->each([&](Pictures::One one) {
      asked.add(std::move(one));
      counter.show(++done, pictures->size());
    });
    asked.answer_all();
    counter.clear();
    if (arguments.json)
      json["predictions"] = std::move(answers);
    else
      answer("\n{}", table.text());
    if (of_pictures.count() > 0 && arguments.json) json["assessment"] = of_pictures.to_json(names);
    if (of_pictures.count() > 0 && !arguments.json) print_assessment(of_pictures, names);
  }
  if (test && model.input().task == Task::regression) {
    const Score score = score_of_test_set(model, *test->test);
    if (arguments.json)
      json["test"] = to_json(score);
    else
      answer("\n{}\n", describe(score));
  } else if (test) {
    Counter counter("testing", "images", arguments.json);
    Asked asked(model, [&](const Pictures::One& one, std::span<const float> probabilities) {
      of_test.add(*one.label, probabilities);
    });
    ask_test_set(model, *test, asked, counter);
    counter.clear();
    if (arguments.json)
      json["test"] = of_test.to_json(names);
    else
      print_assessment(of_test, names);
  }
  if (arguments.json) answer_json(json);
  if (damaged == 0) return 0;
  flush_output();
  tell_sentence(rows ? fmt::format("{} rows cannot be used", damaged)
                     : fmt::format("{} of {} pictures cannot be read", damaged, pictures->size()));
  return kFailed;
}

}  // namespace

void add_predict(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("predict", "Answers of a trained model for images or rows of tables");
  auto arguments = std::make_shared<PredictArguments>();
  command->add_option("PLACE", arguments->place, "a run's folder, or weights from `veche model export`")
      ->type_name("PLACE")
      ->required();
  command
      ->add_option("FILE", arguments->images,
                   "images (JPEG, PNG), folders of images, packed sets, archives; tables (CSV)")
      ->type_name("FILE");
  command->add_option("--out", arguments->out, "of tables: write the answers to this CSV file")
      ->type_name("FILE");
  CLI::Option* node =
      command->add_option("--node", arguments->node, "use the model of this node; default: the average");
  command->add_flag("--test", arguments->test,
                    "evaluate the run's test set: accuracy per class, confusion matrix, calibration");
  command->add_option("--top", arguments->top, "number of classes to show per image")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_flag("--json", arguments->json, "one JSON object on standard output");
  command->callback([arguments, node, &exit_code] { exit_code = predict(*arguments, node->count() > 0); });
}

}  // namespace veche::cli
