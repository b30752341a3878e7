#include "cli/topology/gallery.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>

#include "cli/terminal/output.h"
#include "veche/base/files/files.h"
#include "veche/base/files/read_text.h"
#include "veche/errors.h"

namespace veche::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kNotStarted = 127;  // as in a shell

struct Drawn {
  std::string title;
  std::vector<std::string> words;     // of the command
  std::vector<std::string> pictures;  // files that it leaves in its folder
  std::string about;
};

constexpr char kSites[] = R"([cluster]
nodes = 10

[network]
sites = [
  {nodes = 4, bandwidth = "1Gbps", latency = "50us", uplink = "100Mbps", uplink_latency = "10ms"},
  {nodes = 6, uplink = "20Mbps"},
]
)";
constexpr char kRun[] = R"([model]
name = "mlp"

[data]
name = "synthetic"
shape = [1, 8, 8]
samples = 2400
test_samples = 500
batch = 10
partition = "dirichlet:0.3"

[cluster]
nodes = 12

[topology]
graph = "torus:3x4"

[optimizer]
lr = 0.05

[run]
steps = 60
eval_every = 3
)";

// In the order of execution: reports need runs.
std::vector<Drawn> commands() {
  const auto train = [](const std::string& strategy) {
    return std::vector<std::string>{"train",
                                    "run.toml",
                                    "--quiet",
                                    "--set",
                                    "strategy.name=" + strategy,
                                    "--set",
                                    "run.name=" + strategy};
  };
  return {
      {"A graph",
       {"topology", "torus:4x6", "--model", "cnn", "--svg", "torus.svg"},
       {"torus.svg"},
       "The width of a line is the weight with which two nodes mix. `--png` draws the same as PNG."},
      {"A graph with negative weights",
       {"topology", "erdos-renyi:12:0.3@2", "--weights", "optimal", "--svg", "negative.svg"},
       {"negative.svg"},
       "The best weights of some graphs are negative: those lines are dashed."},
      {"A simulated network",
       {"topology", "--network", "sites.toml", "--svg", "network.svg"},
       {"network.svg"},
       "Two sites behind uplinks, as `veche simulate` takes them from a section `[network]`."},
      {"Samples of each node",
       {"data", "split", "run.toml", "--plot", "split.svg"},
       {"split.svg"},
       "The area of a disc is the number of samples of a class that a node has. "
       "`veche data inspect SET --sheet FILE.png` draws some pictures of each class."},
      {"", train("consensus"), {}, ""},
      {"", train("none"), {}, ""},
      {"", train("local-sgd"), {}, ""},
      {"Results of three runs",
       {"report", "runs/consensus", "runs/none", "runs/local-sgd", "--out", "report.html", "--figures", "."},
       {"accuracy.svg", "loss.svg", "disagreement.svg", "accuracy-seconds.svg", "accuracy-bytes.svg"},
       "`report.html` has them in one page, with tables and the graphs of the runs; `table.tex` and "
       "`table.md` "
       "have the first table."},
  };
}

class ScratchFolder {
 public:
  ScratchFolder() : path_((fs::temp_directory_path() / "veche-gallery-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) throw RunError("no folder can be made in " + path_);
  }
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  fs::path path() const { return path_; }

 private:
  std::string path_;
};

std::string shown(const std::vector<std::string>& words) {
  std::string text = "veche";
  for (const std::string& word : words) text += " " + word;
  return text;
}

// Runs this program with other arguments in a folder. Its output is discarded, its errors are not.
void run_in(const fs::path& folder, const std::vector<std::string>& words) {
  flush_output();
  std::vector<std::string> kept{"veche"};
  kept.insert(kept.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (std::string& word : kept) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const std::string place = folder.string();
  const pid_t child = ::fork();
  if (child < 0) throw RunError("no more processes can be started");
  if (child == 0) {
    const int nothing = ::open("/dev/null", O_WRONLY);
    if (nothing < 0 || ::dup2(nothing, STDOUT_FILENO) < 0 || ::chdir(place.c_str()) != 0)
      ::_exit(kNotStarted);
    ::execv("/proc/self/exe", arguments.data());
    ::_exit(kNotStarted);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (status != 0) throw RunError(fmt::format("`{}` failed", shown(words)));
}

}  // namespace

std::vector<fs::path> make_gallery(const fs::path& folder) {
  const ScratchFolder scratch;
  write_file(scratch.path() / "sites.toml", std::string_view(kSites));
  write_file(scratch.path() / "run.toml", std::string_view(kRun));
  std::string page =
      "# What the commands can draw\n\nMade by `veche report --gallery docs/gallery`; the tests make it anew "
      "and compare. `veche watch` and `veche serve` have pages of their own ([watching](../watching.md), "
      "[serving](../serving.md)).\n";
  std::vector<std::string> before, pictures;
  for (const Drawn& one : commands()) {
    run_in(scratch.path(), one.words);
    before.push_back(shown(one.words));
    if (one.pictures.empty()) continue;
    page += fmt::format("\n## {}\n```\n", one.title);
    for (const std::string& command : before) page += command + "\n";
    page += "```\n" + one.about + "\n\n";
    for (const std::string& picture : one.pictures) {
      page += fmt::format("![{}]({})\n", picture.substr(0, picture.find('.')), picture);
      pictures.push_back(picture);
    }
    before.clear();
  }
  page += fmt::format("\n## The files\n`sites.toml`:\n```toml\n{}```\n`run.toml`:\n```toml\n{}```\n", kSites,
                      kRun);

  std::error_code error;
  fs::create_directories(folder, error);
  if (!fs::is_directory(folder))
    throw RequestError(fmt::format("the folder '{}' cannot be made: {}", folder.string(), error.message()));
  std::vector<fs::path> written;
  const auto write = [&](const std::string& name, const std::string& text) {
    write_file(folder / name, text);
    written.push_back(folder / name);
  };
  constexpr std::uintmax_t kMostPicture = 16U << 20U;
  for (const std::string& picture : pictures)
    write(picture, read_text(scratch.path() / picture, picture, kMostPicture));
  write("gallery.md", page);
  return written;
}

}  // namespace veche::cli
