#include "web/report/report.h"

#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/terminal/output.h"
#include "cli/topology/gallery.h"
#include "cli/topology/topology_report.h"
#include "veche/base/files/files.h"
#include "veche/errors.h"

namespace veche::cli {
namespace {

constexpr double kMostInReport = 100;  // nodes that a small drawing can show

struct ReportArguments {
  std::vector<std::string> runs;
  std::string out = "report.html", csv, figures, gallery;
};

// Draws the topology of a summary, such as "ring:4, metropolis"; empty where it cannot be drawn,
// such as a graph whose file is gone.
std::string graph_of(const web::RunRecord& run) {
  const std::string words = run.text("topology");
  const std::size_t comma = words.rfind(", ");
  if (comma == std::string::npos || web::number(run.summary, {"nodes"}).value_or(0) > kMostInReport)
    return "";
  try {
    return to_svg(picture_of(examine(
        {.spec = words.substr(0, comma), .rule = words.substr(comma + 2), .model = {}, .directed = true})));
  } catch (const RequestError&) {
    return "";
  }
}

void report(const ReportArguments& words) {
  if (!words.gallery.empty()) {
    if (!words.runs.empty()) throw RequestError("--gallery makes runs of its own: name none");
    for (const auto& file : make_gallery(words.gallery)) answer("{}\n", file.string());
    return;
  }
  if (words.runs.empty()) throw RequestError("name folders of runs, such as runs/NAME, or ask for --gallery");
  const auto groups = web::by_seed(web::read_records({words.runs.begin(), words.runs.end()}));
  const std::filesystem::path place = place_of(words.out);
  if (place.has_parent_path() && !std::filesystem::is_directory(place.parent_path()))
    throw RequestError(fmt::format("the folder {} does not exist", place.parent_path().string()));
  write_file(place, web::report_page(groups, graph_of));
  answer("{}\n", words.out);
  if (!words.csv.empty())
    for (const auto& file : web::write_csv(groups, words.csv)) answer("{}\n", file.string());
  if (!words.figures.empty())
    for (const auto& file : web::write_figures(groups, words.figures)) answer("{}\n", file.string());
}

}  // namespace

void add_report(CLI::App& app) {
  CLI::App* command = app.add_subcommand("report", "Write tables and curves of runs to one HTML page");
  auto words = std::make_shared<ReportArguments>();
  command->add_option("RUN", words->runs, "folders of runs or comparisons (--compare, --repeat)")
      ->type_name("RUN");
  command->add_option("--out", words->out, "output file")->type_name("FILE")->capture_default_str();
  command->add_option("--csv", words->csv, "also write CSV files to this folder")->type_name("DIR");
  command
      ->add_option("--figures", words->figures,
                   "also write SVG figures, LaTeX and Markdown tables to this folder")
      ->type_name("DIR");
  command
      ->add_option("--gallery", words->gallery,
                   "instead of a report: write a gallery of the pictures of all commands to this folder")
      ->type_name("DIR")
      ->expected(0, 1)
      ->default_str("gallery");
  command->callback([words] { report(*words); });
}

}  // namespace veche::cli
