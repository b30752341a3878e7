#include "web/report/report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "veche/errors.h"
#include "web/report/answer.h"

namespace veche::web {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() : path_(fs::path(testing::TempDir()) / ("veche-report-" + std::to_string(::getpid()))) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }

  fs::path run(const std::string& name, int seed, double accuracy, const std::string& strategy = "consensus",
               bool ended = true) const {
    const fs::path folder = path_ / name;
    fs::create_directories(folder);
    std::ofstream(folder / "config.toml") << "[run]\nname = \"" << name << "\"\nseed = " << seed
                                          << "\n\n[strategy]\nname = \"" << strategy << "\"\n";
    std::ofstream metrics(folder / "metrics.jsonl");
    for (int step = 1; step <= 3; ++step)
      metrics << R"({"step":)" << step << R"(,"seconds":)" << 2 * step << R"(,"train":{"loss":)" << 1.0 / step
              << R"(},"average_model":{"accuracy":)" << accuracy * step / 3
              << R"(},"cv":0.01,"nodes":[{"bytes_sent":)" << 1000 * step << "}]}\n";
    metrics << R"({"step":4,"sec)";  // cut short by a kill
    if (ended)
      std::ofstream(folder / "summary.json")
          << R"({"strategy":")" << strategy
          << R"(","topology":"ring:4, metropolis","nodes":4,"steps":3,"seconds":6,)"
          << R"("accuracy":{"mean":)" << accuracy << R"(,"std":0.01,"average_model":)" << accuracy
          << R"(},"bytes_sent":3000,"stopped":"steps","per_node":[{"steps":3,"bytes_sent":3000}]})";
    return folder;
  }

 private:
  const fs::path path_;
};

TEST(Records, SeedsOfOneKindAreOneGroup) {
  const Folder folder;
  folder.run("cmp/a-seed1", 1, 0.80);
  folder.run("cmp/a-seed2", 2, 0.90);
  folder.run("cmp/b-seed1", 1, 0.50, "allreduce");
  const auto groups = by_seed(read_records({folder.path() / "cmp"}));
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].name, "a");
  EXPECT_EQ(groups[0].runs.size(), 2U);
  EXPECT_EQ(groups[1].name, "b-seed1");  // a single run keeps its name
  const auto accuracy = over_runs(groups[0], {"accuracy", "mean"});
  EXPECT_NEAR(accuracy->mean, 0.85, 1e-12);
  EXPECT_NEAR(accuracy->std, 0.05, 1e-12);
  const std::string table = overview(findings_of(groups)).to_markdown();
  EXPECT_NE(table.find("85.0 ± 5.0\u00a0%"), std::string::npos) << table;
  const std::string runs = every_run(groups).to_markdown();
  EXPECT_NE(runs.find("50.0 ± 1.0\u00a0%"), std::string::npos) << runs;  // over the nodes of the single run
}

TEST(Records, ARunThatHasNotEndedTellsItsLastMeasurement) {
  const Folder folder;
  const RunRecord run = read_record(folder.run("going", 1, 0.9, "consensus", false));
  EXPECT_FALSE(run.ended);
  EXPECT_EQ(run.metrics.size(), 3U);  // without the truncated line
  EXPECT_DOUBLE_EQ(*number(run.summary, {"accuracy", "average_model"}), 0.9);
  EXPECT_DOUBLE_EQ(*number(run.summary, {"bytes_sent"}), 3000);
  EXPECT_NE(every_run(by_seed({run})).to_csv().find("not ended"), std::string::npos);
}

TEST(Records, SaysWhatIsWrong) {
  const Folder folder;
  EXPECT_THROW(read_records({folder.path() / "no"}), RequestError);
  EXPECT_THROW(read_records({folder.path()}), RequestError);
  std::ofstream(folder.run("damaged", 1, 0.5) / "summary.json") << "[1";
  EXPECT_THROW(read_records({folder.path() / "damaged"}), RequestError);
  EXPECT_FALSE(number(Json::parse(R"({"a":"x"})"), {"a"}));
  EXPECT_FALSE(number(Json::parse(R"({"a":1})"), {"a", "b"}));
}

TEST(Records, BytesOfALostNodeStayInTheSum) {
  const Folder folder;
  const fs::path run = folder.run("lost", 1, 0.9, "consensus", false);
  std::ofstream(run / "metrics.jsonl")
      << R"({"step":1,"nodes":[{"bytes_sent":10},{"bytes_sent":20},{"bytes_sent":30}]})"
      << "\n"
      << R"({"step":2,"nodes":[{"bytes_sent":15},{"bytes_sent":25}]})"
      << "\n"
      << R"({"step":3,"nodes":[{"bytes_sent":20},{"bytes_sent":26}]})"
      << "\n"
      << R"({"step":3,"nodes":[{"bytes_sent":21},{"bytes_sent":26}]})"
      << "\n";  // resumed: step 3 again
  const RunRecord record = read_record(run);
  EXPECT_EQ(record.sent, (std::vector<double>{60, 70, 77}));  // 15 + 25 + 30, 21 + 26 + 30
  EXPECT_EQ(bytes_sent(record), 77);
}

TEST(Records, SettingsAreReadWithTheirSections) {
  const auto settings =
      settings_of("# made by Veche\n[run]\nseed = 1\nname = \"a = b\"\n[data]\nmean = [\n  1,\n]\n");
  ASSERT_EQ(settings.size(), 3U);
  EXPECT_EQ(settings[1], (std::pair<std::string, std::string>("run.name", "a = b")));
  EXPECT_EQ(settings[2], (std::pair<std::string, std::string>("data.mean", "[  1,]")));
}

// Two seeds of each: the curves of Folder reach a third, two thirds and all of their accuracy after
// 2, 4 and 6 seconds and 1000, 2000 and 3000 bytes.
TEST(Findings, TheGoalIsWhatTwoConfigurationsReach) {
  const Folder folder;
  folder.run("cmp/a-seed1", 1, 0.96);
  folder.run("cmp/a-seed2", 2, 0.90);
  folder.run("cmp/b-seed1", 1, 0.63, "allreduce");
  folder.run("cmp/c-seed1", 1, 0.31, "none");
  const auto groups = by_seed(read_records({folder.path() / "cmp"}));
  const Findings findings = findings_of(groups);
  ASSERT_EQ(findings.all.size(), 3U);
  EXPECT_DOUBLE_EQ(*findings.goal, 0.6);  // b's 0.63
  const Finding& a = findings.all[0];
  EXPECT_EQ(a.name(), "a");
  EXPECT_DOUBLE_EQ(a.bytes_to_goal->mean, 2000);  // 0.64 and 0.60 at the second measurement
  EXPECT_DOUBLE_EQ(a.seconds_to_goal->mean, 4);
  EXPECT_DOUBLE_EQ(findings.all[1].bytes_to_goal->mean, 3000);
  EXPECT_FALSE(findings.all[2].bytes_to_goal);
  EXPECT_EQ(findings.differing, (std::vector<std::string>{"strategy.name"}));
  const Answer answer = answer_of(findings);
  EXPECT_NE(answer.title.english.find("a reaches"), std::string::npos) << answer.title.english;
  EXPECT_NE(answer.title.english.find("2.00\u00a0kB"), std::string::npos) << answer.title.english;
  EXPECT_NE(answer.lead.english.find("Not reached by c-seed1"), std::string::npos) << answer.lead.english;
  EXPECT_EQ(answer.figures.size(), 3U);  // the runs do not tell their disagreement
}

TEST(Findings, ASmallerPerplexityIsBetter) {
  const Folder folder;
  const auto write = [&](const std::string& name, double first, double last) {
    const fs::path run = folder.run(name, 1, 0.5, name, false);
    std::ofstream metrics(run / "metrics.jsonl");
    metrics << R"({"step":1,"seconds":1,"task":"language","average_model":{"perplexity":)" << first
            << R"(},"nodes":[{"bytes_sent":5}]})"
            << "\n"
            << R"({"step":2,"seconds":2,"task":"language","average_model":{"perplexity":)" << last
            << R"(},"nodes":[{"bytes_sent":9}]})"
            << "\n";
    return run;
  };
  const auto groups = by_seed(read_records({write("slow", 9, 5.61), write("quick", 5.64, 5.2)}));
  const Findings findings = findings_of(groups);
  EXPECT_DOUBLE_EQ(*findings.goal, 5.7);  // the worse of 5.61 and 5.2, with two digits
  EXPECT_EQ(findings.all[0].name(), "quick");
  EXPECT_DOUBLE_EQ(findings.all[0].seconds_to_goal->mean, 1);
  EXPECT_DOUBLE_EQ(findings.all[1].bytes_to_goal->mean, 9);
  const std::string title = answer_of(findings).title.english;
  EXPECT_NE(title.find("perplexity 5.70"), std::string::npos) << title;
}

TEST(Page, NamesHarmNothing) {
  const Folder folder;
  RunRecord run = read_record(folder.run("evil", 1, 0.5));
  run.name = "</script><script>alert(1)</script>\"'&\x01";
  run.config = "</pre><img src=x onerror=alert(1)>";
  run.summary["strategy"] = "</td><b>";
  const auto groups = by_seed({run});
  const std::string page = report_page(groups, [](const RunRecord&) { return ""; });
  EXPECT_EQ(page.find("<script"), page.rfind("<script"));  // the page's own
  EXPECT_EQ(page.find("<img"), std::string::npos);
  EXPECT_EQ(page.find("</td><b>"), std::string::npos);
  EXPECT_EQ(page.find('\x01'), std::string::npos);
  EXPECT_NE(page.find("&lt;/script&gt;"), std::string::npos);
  EXPECT_LT(page.size(), 100'000U);
  for (const auto& file : write_csv(groups, folder.path() / "csv"))
    EXPECT_EQ(file.parent_path(), folder.path() / "csv");
}

TEST(Page, ShowsTheFirstAndTheLastTextOfALanguageModel) {
  const Folder folder;
  const fs::path run = folder.run("a", 1, 0.8);
  std::ofstream(run / "samples.jsonl") << R"({"step":1,"text":"xq<z"})"
                                       << "\n"
                                       << R"({"step":2,"text":"in between"})"
                                       << "\n"
                                       << R"({"step":3,"text":"to be"})"
                                       << "\n"
                                       << R"({"step":4,"te)";
  const std::string page = report_page(by_seed(read_records({run})), [](const RunRecord&) { return ""; });
  const std::size_t first = page.find("wrote at step 1<"), last = page.find("wrote at step 3<");
  EXPECT_LT(first, page.find("<pre class=\"sample\">xq&lt;z</pre>"));
  EXPECT_LT(page.find("xq&lt;z"), last);
  EXPECT_LT(last, page.find("<pre class=\"sample\">to be</pre>"));
  EXPECT_NE(page.find("to be"), std::string::npos);
  EXPECT_EQ(page.find("in between"), std::string::npos);
}

TEST(Sheet, EveryFormEscapesItsOwnSigns) {
  Sheet sheet({"name", "50 %"});
  sheet.row({"a|b_c, \"d\"", "1 ± 2"});
  EXPECT_EQ(sheet.to_csv(), "name,50 %\r\n\"a|b_c, \"\"d\"\"\",1 ± 2\r\n");
  EXPECT_EQ(sheet.to_markdown(), "| name | 50 % |\n|---|---:|\n| a\\|b_c, \"d\" | 1 ± 2 |\n");
  const std::string latex = sheet.to_latex("x_y");
  EXPECT_NE(latex.find("a|b\\_c, \"d\" & 1 $\\pm$ 2 \\\\"), std::string::npos) << latex;
  EXPECT_NE(latex.find("50 \\%"), std::string::npos);
  EXPECT_NE(latex.find("{tabular}{lr}"), std::string::npos);
  EXPECT_THROW(sheet.row({"one"}), std::invalid_argument);
}

TEST(Chart, TicksAreRoundNumbersInside) {
  EXPECT_EQ(round_ticks(0, 10, 5), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  const auto ticks = round_ticks(0.12, 0.87, 5);
  EXPECT_NEAR(ticks.front(), 0.2, 1e-12);
  EXPECT_NEAR(ticks.back(), 0.8, 1e-12);
  EXPECT_TRUE(round_ticks(1, 1, 5).empty());
}

TEST(Chart, TicksOfALogarithmicAxisAreRoundToo) {
  EXPECT_EQ(tick_labels(logarithmic_ticks(5, 1000, 6), true),
            (std::vector<std::string>{"5", "10", "20", "50", "100", "200", "500", "1,000"}));
  EXPECT_EQ(tick_labels(logarithmic_ticks(0.9, 21, 6), true),
            (std::vector<std::string>{"1", "2", "5", "10", "20"}));
  EXPECT_EQ(tick_labels({0, 0.05, 0.1}, false), (std::vector<std::string>{"0.00", "0.05", "0.10"}));
}

TEST(Chart, TheGoalAndWhereItIsReachedAreDrawn) {
  const Chart chart{.title = "t",
                    .x_name = "x",
                    .y_name = "y",
                    .curves = {{.name = "a",
                                .x = {1, 2, 3},
                                .y = {1, 2, 3},
                                .low = {0, 1, 2},
                                .high = {2, 3, 4},
                                .ring = {{2, 2}}}},
                    .goal = 2};
  const std::string page = to_svg(chart, Medium::page);
  for (const char* part : {"class=\"goal\"", "class=\"ring\"", "class=\"band\"", "var(--c1)"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
  EXPECT_EQ(to_svg(chart).find("var("), std::string::npos);  // alone, nobody defines them
}

TEST(Chart, DecimationKeepsPeaksAndEnds) {
  Curve curve{"x", {}, {}};
  for (int i = 0; i < 100'000; ++i) {
    curve.x.push_back(i);
    curve.y.push_back(i == 54'321 ? 9 : i == 7 ? -9 : std::sin(i * 0.01));
  }
  const Curve few = decimated(curve, 300);
  EXPECT_LE(few.x.size(), 1200U);
  EXPECT_EQ(few.x.front(), 0);
  EXPECT_EQ(few.x.back(), 99'999);
  EXPECT_EQ(*std::ranges::max_element(few.y), 9);
  EXPECT_EQ(*std::ranges::min_element(few.y), -9);
  EXPECT_TRUE(std::ranges::is_sorted(few.x));
}

TEST(Chart, WhatCannotBeDrawnIsLeftOut) {
  EXPECT_EQ(to_svg({"t", "x", "y", {}}), "");
  EXPECT_EQ(to_svg({"t", "x", "y", {{"a", {1}, {NAN}}}}), "");
  EXPECT_EQ(to_svg({"t", "x", "y", {{"a", {1}, {0}}}, true}), "");
  const std::string one = to_svg({"t", "x", "y", {{"a", {5}, {7}}}});
  EXPECT_NE(one.find("<circle"), std::string::npos);
  EXPECT_EQ(one.find("nan"), std::string::npos);
  // Names are escaped, and long ones are cut between characters.
  std::string name = "<b>";
  for (int i = 0; i < 40; ++i) name += "é";
  const std::string named = to_svg({"t", "x", "y", {{name, {1, 2}, {1, 2}}}});
  EXPECT_EQ(named.find("<b>"), std::string::npos);
  EXPECT_NE(named.find("é…"), std::string::npos);
}

}  // namespace
}  // namespace veche::web
