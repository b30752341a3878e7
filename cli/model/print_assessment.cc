#include "cli/model/print_assessment.h"

#include <fmt/format.h>

#include <cmath>

#include "cli/terminal/output.h"
#include "cli/terminal/text.h"

namespace veche::cli {
namespace {

constexpr std::size_t kMostConfusion = 30;  // classes of a confusion matrix that fits on a screen

}  // namespace

void print_assessment(const Assessment& found, const std::vector<std::string>& names) {
  const auto area = found.auc();
  answer("\n{} of {} right ({:.2f} %), loss {:.4f}{}, calibration error {:.2f} %\n\n",
         with_commas(
             static_cast<std::uint64_t>(std::llround(found.accuracy() * static_cast<double>(found.count())))),
         with_commas(static_cast<std::uint64_t>(found.count())), 100 * found.accuracy(), found.loss(),
         area ? fmt::format(", AUC {:.4f}", *area) : std::string(), 100 * found.calibration_error());
  const bool matrix = names.size() <= kMostConfusion;
  std::vector<std::string> head{"class", "samples", "found", "right when named"};
  for (std::size_t i = 0; matrix && i < names.size(); ++i) head.push_back(fmt::format("as {}", i));
  Table table(std::move(head));
  for (std::size_t truth = 0; truth < names.size(); ++truth) {
    const std::int64_t all = found.of_class(truth), named = found.answers(truth);
    const auto right = static_cast<double>(found.confused(truth, truth));
    const auto percent = [&](std::int64_t of) {
      return of == 0 ? std::string("-") : fmt::format("{:.1f} %", 100 * right / static_cast<double>(of));
    };
    std::vector<std::string> row{fmt::format("{} {}", truth, one_line(names[truth])),
                                 with_commas(static_cast<std::uint64_t>(all)), percent(all), percent(named)};
    for (std::size_t i = 0; matrix && i < names.size(); ++i)
      row.push_back(std::to_string(found.confused(truth, i)));
    table.row(std::move(row));
  }
  answer("{}\n", table.text());
  Table bins({"probability of the answer", "answers", "its mean", "right"});
  for (std::size_t i = 0; i < found.bins().size(); ++i)
    if (const Assessment::Bin& bin = found.bins()[i]; bin.count > 0) {
      const auto count = static_cast<double>(bin.count);
      bins.row({fmt::format("{:.1f} to {:.1f}", static_cast<double>(i) / Assessment::kBins,
                            static_cast<double>(i + 1) / Assessment::kBins),
                with_commas(static_cast<std::uint64_t>(bin.count)),
                fmt::format("{:.1f} %", 100 * bin.probability / count),
                fmt::format("{:.1f} %", 100 * static_cast<double>(bin.right) / count)});
    }
  answer("{}", bins.text());
}

}  // namespace veche::cli
