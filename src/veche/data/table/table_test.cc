#include "veche/data/table/table.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <cmath>
#include <fstream>
#include <numeric>
#include <set>

#include "veche/data/feed/loader.h"
#include "veche/data/sets/source.h"
#include "veche/data/table/cell.h"
#include "veche/data/table/csv_rows.h"
#include "veche/data/table/csv_text.h"
#include "veche/data/table/open_table.h"
#include "veche/data/table/row_encoder.h"
#include "veche/data/table/table_set.h"
#include "veche/errors.h"
#include "veche/random.h"

namespace veche {
namespace {

namespace fs = std::filesystem;

class TableTest : public testing::Test {
 protected:
  TableTest() { fs::create_directories(folder_); }
  ~TableTest() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return (folder_ / name).string();
  }
  DataSettings settings(const std::string& path, const std::string& target = "y") const {
    DataSettings settings;
    settings.path = {path};
    settings.target = target;
    return settings;
  }
  static std::string problem(const DataSettings& settings) {
    try {
      open_data(settings, 1);
    } catch (const RequestError& error) {
      return error.what();
    }
    return "";
  }
  static void expect_problem(const DataSettings& settings, const std::string& part) {
    const std::string told = problem(settings);
    EXPECT_NE(told.find(part), told.npos) << told;
  }
  static std::vector<float> sample(const Dataset& set, std::size_t index) {
    std::vector<float> out(set.shape().size());
    set.read(index, out);
    return out;
  }

  const fs::path folder_ = fs::temp_directory_path() / ("veche-table-test-" + std::to_string(getpid()));
};

TEST(Cell, ReadsNumbersDatesAndMissingValues) {
  EXPECT_EQ(read_number("-1.5e3"), -1500);
  EXPECT_EQ(read_number("+7"), 7);
  for (const char* text : {"", "x", "1x", "0x10", "inf", "nan", "1,5", "+-1", "--1"})
    EXPECT_FALSE(read_number(text)) << text;
  for (const char* text : {"", "NA", "n/a", "NaN", "Null", "none", "?"})
    EXPECT_TRUE(is_missing(text)) << text;
  for (const char* text : {"0", "no", "nothing", "-"}) EXPECT_FALSE(is_missing(text)) << text;
  EXPECT_EQ(read_date("1970-01-02"), 1);
  EXPECT_EQ(read_date("1.1.1970"), 0);
  EXPECT_EQ(read_date("2000/02/29"), 11016);
  EXPECT_EQ(read_date("1969-12-31T18:00:00.0Z"), -0.25);
  EXPECT_EQ(read_date("1970-01-01 12:00"), 0.5);
  for (const char* text :
       {"2001-02-29", "2000-13-01", "1970-01-01 24:00", "1970-01-01x", "7", "1.2", "1.1.70"})
    EXPECT_FALSE(read_date(text)) << text;
}

// The days are Python's: (datetime(2024, 2, 29, 18, 30) - datetime(1970, 1, 1)) / timedelta(days=1).
TEST(Cell, DatesAreWrittenAsTheyAreRead) {
  EXPECT_EQ(date_text(0), "1970-01-01");
  EXPECT_EQ(date_text(11016), "2000-02-29");
  EXPECT_EQ(date_text(-0.25), "1969-12-31T18:00:00");
  EXPECT_EQ(date_text(19782.770833333332), "2024-02-29T18:30:00");
  EXPECT_EQ(read_date(date_text(19782.770833333332)), 19782.770833333332);
}

TEST(CsvText, RowsEndOutsideOfQuotationMarks) {
  EXPECT_EQ(length_of_rows("a,b\n1,", ','), 4U);
  EXPECT_EQ(length_of_rows("\"a\n\",b\n1,\"\n", ','), 7U);
  EXPECT_EQ(length_of_rows("5\" disk,b\n1", ','), 10U);  // a mark inside of a cell is literal
  EXPECT_EQ(length_of_rows("\"a\"\"\n", ','), 0U);
  EXPECT_EQ(lines_of_rows("\"a\n\n\"\n\nb\nc\n", ','), (std::vector<std::uint64_t>{0, 4, 5}));
}

// Of random texts of the characters that matter.
TEST(CsvText, RowsAreThoseOfLibcsv) {
  constexpr std::string_view kLetters = "a \t\",\n\r";
  struct Rows {
    void cell(std::string_view /*text*/) {}
    void end_row() { ++count; }
    std::size_t count = 0;
  };
  RandomStream random(1, "csv text");
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (std::uint64_t length = random.next() % 14; length > 0; --length)
      text += kLetters[random.next() % kLetters.size()];
    for (const char separator : {',', '\t'}) {
      Rows all, whole;
      CsvRows(separator).parse(text, all);
      ASSERT_EQ(lines_of_rows(text, separator).size(), all.count) << text;
      // What length_of_rows calls whole is cut into the same rows alone.
      const std::size_t length = length_of_rows(text, separator);
      Rows rest;
      CsvRows(separator).parse(std::string_view(text).substr(0, length), whole);
      CsvRows(separator).parse(std::string_view(text).substr(length), rest);
      ASSERT_EQ(whole.count + rest.count, all.count) << text;
    }
  }
}

// Both numbers of the one test row and of the training rows are by hand.
TEST_F(TableTest, StandardisesNumbersAndSpreadsCategories) {
  const std::string path =
      write("a.csv", "id,n,c,y\r\n1,1,red,no\r\n2,3,\"blue\",yes\r\n3,5,red,no\r\n4,100,blue,yes\r\n");
  DataSettings keys = settings(path);
  keys.ignore = {"id"};
  keys.test = Value{std::string("id == 4")};
  const DataSource source = open_data(keys, 1);
  EXPECT_EQ(source.class_names, (std::vector<std::string>{"no", "yes"}));
  ASSERT_EQ(source.train->size(), 3U);
  ASSERT_EQ(source.test->size(), 1U);
  EXPECT_EQ(source.train->shape(), (Shape{3, 1, 1}));
  const float apart = static_cast<float>(2 / std::sqrt(8.0 / 3));
  EXPECT_EQ(sample(*source.train, 0), (std::vector<float>{-apart, 0, 1}));  // blue, red
  EXPECT_EQ(sample(*source.train, 1), (std::vector<float>{0, 1, 0}));
  EXPECT_EQ(source.train->label(1), 1);
  EXPECT_FLOAT_EQ(sample(*source.test, 0)[0], static_cast<float>(97 / std::sqrt(8.0 / 3)));
}

TEST_F(TableTest, TellsMissingValuesByAnInput) {
  const std::string path =
      write("a.csv", "n,c,d,y\n1,a,2024-01-01,0\n,NA,2024-01-03,1\n3,b,?,1\n2,a,2024-01-02,0\n");
  DataSettings keys = settings(path);
  keys.test = Value{std::string("n == 2")};
  const DataSource source = open_data(keys, 1);
  // n, n missing, a, b, c missing, d, d missing
  EXPECT_EQ(sample(*source.train, 0), (std::vector<float>{-1, 0, 1, 0, 0, -1, 0}));
  EXPECT_EQ(sample(*source.train, 1), (std::vector<float>{0, 1, 0, 0, 1, 1, 0}));
  EXPECT_EQ(sample(*source.train, 2), (std::vector<float>{1, 0, 0, 1, 0, 0, 1}));
}

TEST_F(TableTest, NumbersAreTargetsOfARegression) {
  std::string text = "x;y\n";
  for (int i = 0; i < 50; ++i) text += std::to_string(i) + ";" + std::to_string(3 * i) + ".5\n";
  const DataSource source = open_data(settings(write("a.csv", text)), 1);
  EXPECT_EQ(source.train->task(), Task::regression);
  EXPECT_EQ(source.train->classes(), 0);
  EXPECT_NEAR(source.train->size(), 45, 8);
  const ValueTargets& values = *source.train->values();
  double mean = 0;
  for (std::size_t i = 0; i < source.train->size(); ++i) mean += values.value(i);
  EXPECT_NEAR(values.mean(), mean / static_cast<double>(source.train->size()), 1e-4);
  DataSettings classes = settings(write("b.csv", "x,y\n1,1\n2,2\n3,1\n4,2\n"));
  classes.test = Value{std::string("x > 2")};
  EXPECT_EQ(open_data(classes, 1).train->classes(), 2);
  classes.task = Task::regression;
  EXPECT_EQ(open_data(classes, 1).train->task(), Task::regression);
}

TEST_F(TableTest, FindsSeparatorsQuotesAndByteOrderMarks) {
  const std::string path =
      write("a.csv", "\xef\xbb\xbf\"a b\"\t\"y\"\n\"one\n\"\"two\"\"\"\t0\n\n\"x,y\"\t1\r\n z \t1\n");
  const Table table(path, settings(path), nullptr, {}, {}, 2);
  ASSERT_EQ(table.inputs().size(), 1U);
  EXPECT_EQ(table.inputs()[0].name, "a b");
  EXPECT_EQ(table.inputs()[0].categories, (std::vector<std::string>{"one\n\"two\"", "x,y", "z"}));
  EXPECT_EQ(table.line_of(1), 5U);
  DataSettings keys = settings(path);
  keys.test = Value{std::string("y == 1 and \"a b\" == 'z'")};
  expect_problem(keys, "a.csv', line 6: a b is 'z', a category that no training row has");
  keys.bad = OnDamage::skip;
  expect_problem(keys, "has no test row");
}

TEST_F(TableTest, PackedFilesAreTheSame) {
  std::string text = "a,b,y\n";
  for (int i = 0; i < 1000; ++i) text += fmt::format("{},{},{}\n", i, i % 7, i % 3);
  const std::string plain = write("a.csv", text);
  const std::string packed = (folder_ / "b.csv.gz").string();
  gzFile file = gzopen(packed.c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  const DataSource one = open_data(settings(plain), 1), two = open_data(settings(packed), 1);
  EXPECT_EQ(*one.scheme, *two.scheme);
  EXPECT_EQ(sample(*one.test, 5), sample(*two.test, 5));
}

// Larger than a block, and than what stays in memory.
TEST_F(TableTest, ThreadsAndBlocksDoNotChangeTheTable) {
  std::string text = "a,b,c,y\n";
  for (int i = 0; i < 300'000; ++i) text += fmt::format("{},\"{}\n\",{},{}\n", i, i % 11, i * 0.25, i % 2);
  const std::string path = write("a.csv", text);
  const Table one(path, settings(path), nullptr, {}, {}, 1), four(path, settings(path), nullptr, {}, {}, 4);
  EXPECT_EQ(agree({one.sums()}, {path}), agree({four.sums()}, {path}));
  ASSERT_EQ(four.size(), 300'000U);
  for (std::size_t row = 0; row < four.size(); row += 997) {
    EXPECT_EQ(four.row(row)[0], static_cast<float>(row));
    EXPECT_EQ(four.inputs()[1].categories[static_cast<std::size_t>(four.row(row)[1])],
              std::to_string(row % 11) + "\n");
  }
  EXPECT_EQ(four.line_of(200'000), 400'002U);
  EXPECT_NEAR(four.sums().columns[2].mean, 0.25 * 299'999 / 2, 1e-6);
}

TEST_F(TableTest, SitesAgreeOnWhatAllRowsTogetherSay) {
  std::string first = "n,c,y\n", second = "c,y,n\n", all = "n,c,y\n";
  for (int i = 0; i < 60; ++i) {
    const double n = 1e6 + i * i % 17;
    const std::string y = i % 2 == 0 ? "a" : "b", c = std::to_string(i % (i < 30 ? 3 : 5));
    (i < 30 ? first : second) +=
        i < 30 ? fmt::format("{},{},{}\n", n, c, y) : fmt::format("{},{},{}\n", c, y, n);
    all += fmt::format("{},{},{}\n", n, c, y);
  }
  std::vector<TableSums> sums;
  for (const auto& [name, text] :
       {std::pair("1.csv", first), std::pair("2.csv", second), std::pair("3.csv", all)}) {
    DataSettings keys = settings(write(name, text));
    keys.categories = {"c"};
    const Table table(keys.path.one, keys, nullptr, {}, {}, 1);
    sums.push_back(table.sums());
  }
  const TableScheme together = agree({sums[0], sums[1]}, {"1", "2"}), pooled = agree({sums[2]}, {"3"});
  EXPECT_EQ(together.columns[1], pooled.columns[1]);
  EXPECT_EQ(together.target, pooled.target);
  EXPECT_NEAR(together.columns[0].mean, pooled.columns[0].mean, 1e-6);
  EXPECT_NEAR(together.columns[0].deviation, pooled.columns[0].deviation, 1e-9);
  sums[1].columns[0].kind = ColumnKind::number;
  EXPECT_THROW(agree({sums[0], sums[1]}, {"1", "2"}), RequestError);
}

TEST_F(TableTest, NamesFileAndLineOfWhatIsWrong) {
  const auto with = [&](const std::string& rows) { return settings(write("a.csv", "n,c,y\n" + rows)); };
  const std::string good = "1,a,0\n2,b,1\n3,a,0\n4,b,1\n";
  std::string many;
  for (int i = 0; i < 100; ++i) many += "1,a," + std::to_string(i % 2) + "\n";
  expect_problem(with(good + "5,a\n"), "a.csv', line 6: 2 cells stand where the first line has 3 columns");
  expect_problem(with(many + "x,a,1\n"), "line 102: n is 'x', which is no number");
  expect_problem(with(good + "5,a,\n"), "line 6: the target y has no value");
  expect_problem(settings(write("b.csv", "a,a,y\n1,2,3\n")), "two columns are named 'a'");
  expect_problem(settings(write("b.csv", "1,2\n1,2\n")), "its first line must name the columns");
  expect_problem(settings(write("b.csv", "")), "is empty");
  expect_problem(settings(write("b.csv", "a,y\n")), "has no rows");
  expect_problem(settings(write("b.csv", "n,y\n1,2\n"), "yy"), "has no column 'yy'; did you mean 'y'?");
  DataSettings keys = with(good);
  keys.target.reset();
  expect_problem(keys, "data.target must name the column to predict");
  keys = with(many + "x,a,1\n5,a\n");
  keys.bad = OnDamage::skip;
  const DataSource source = open_data(keys, 1);
  EXPECT_EQ(source.train->size() + source.test->size(), 100U);
  EXPECT_EQ(source.damage.front()->count(), 2U);
}

TEST_F(TableTest, RefusesConditionsThatMakeNoSense) {
  const std::string path = write("a.csv", "ID,c,y\n1,a,0\n2,b,1\n3,a,1\n4,b,0\n");
  const auto refused = [&](const std::string& condition, const std::string& part) {
    DataSettings keys = settings(path);
    keys.test = Value{condition};
    expect_problem(keys, part);
  };
  refused("IDD % 5 == 0", "there is no column 'IDD'; did you mean 'ID'?");
  refused("ID % 0 == 0", "'0' stands where a whole number above 0 must");
  refused("ID % 5", "there is no such file, and it is no comparison");
  refused("ID ==", "neither a number nor a date");
  refused("ID == 1 ID == 2", "stands where 'and' or 'or' may");
  refused("c == a", "a text is in quotation marks: 'a'");
  refused("c < 'a'", "only be compared with == and !=");
  refused("c == 1", "line 2: c is 'a', which data.test cannot compare");
  refused("ID > 5", "has no test row");
  refused("ID > 0", "holds for every row");
  DataSettings keys = settings(path);
  keys.test = Value{2.0};
  expect_problem(keys, "a share lies between 0 and 1");
}

// A set whose samples are read one by one.
class OneByOne final : public Dataset {
 public:
  explicit OneByOne(std::shared_ptr<const Dataset> set) : set_(std::move(set)) {}
  std::size_t size() const override { return set_->size(); }
  Shape shape() const override { return set_->shape(); }
  int classes() const override { return set_->classes(); }
  std::int64_t label(std::size_t index) const override { return set_->label(index); }
  void read(std::size_t index, std::span<float> out) const override { set_->read(index, out); }
  const ValueTargets* values() const override { return set_->values(); }

 private:
  const std::shared_ptr<const Dataset> set_;
};

// Numbers, categories and missing values; 1 to 11 columns of numbers, so that rows end within the
// pieces that are copied at once and at their ends. Half of the tables have numbers as targets.
TEST_F(TableTest, BatchesAreThoseOfSamplesReadOneByOne) {
  for (int columns = 1; columns <= 11; ++columns) {
    SCOPED_TRACE(columns);
    std::string text;
    for (int c = 0; c < columns; ++c) text += fmt::format("n{},", c);
    text += "c,y\n";
    RandomStream random(1, "table test");
    for (int row = 0; row < 103; ++row) {
      for (int c = 0; c < columns; ++c)
        text += random.next() % 9 == 0 ? "," : fmt::format("{},", random.next() % 1000);
      text += fmt::format("{},{}\n",
                          row % 7 == 3   ? "?"
                          : row % 2 == 0 ? "a"
                                         : "b",
                          columns % 2 == 0 ? random.next() % 1000 : random.next() % 3);
    }
    const DataSource source = open_data(settings(write("a.csv", text)), 1);
    const auto& kept = dynamic_cast<const TableSet&>(*source.train);
    const auto on_the_fly = std::make_shared<TableSet>(kept.table(), kept.table()->train_rows(),
                                                       kept.scheme(), DamagePolicy{}, 0);
    const auto one_by_one = std::make_shared<OneByOne>(on_the_fly);
    std::vector<std::uint32_t> all(source.train->size());
    std::iota(all.begin(), all.end(), 0U);
    for (const int workers : {0, 2})
      for (const std::uint64_t first : {0, 5}) {
        Prefetcher prefetcher(workers);
        const Loader::Plan plan{.batch = 4, .first_step = first};
        for (const std::shared_ptr<const Dataset>& set :
             {source.train, std::shared_ptr<const Dataset>(on_the_fly)}) {
          Loader found(set, {{.node = 0, .samples = all}}, plan, prefetcher);
          Loader expected(one_by_one, {{.node = 0, .samples = all}}, plan, prefetcher);
          for (int step = 0; step < 150; ++step) {
            const Batch one = found.next(), other = expected.next();
            ASSERT_EQ(one.step, first + static_cast<std::uint64_t>(step));
            ASSERT_TRUE(std::ranges::equal(one.inputs, other.inputs));
            ASSERT_TRUE(std::ranges::equal(one.labels, other.labels));
            ASSERT_TRUE(std::ranges::equal(one.values, other.values));
          }
        }
      }
    // Evaluation reads consecutive samples.
    BatchStorage storage, other;
    const Batch whole = read_batch(*source.train, 3, 50, storage),
                same = read_batch(*one_by_one, 3, 50, other);
    EXPECT_TRUE(std::ranges::equal(whole.inputs, same.inputs));
    EXPECT_TRUE(std::ranges::equal(whole.labels, same.labels));
    EXPECT_TRUE(std::ranges::equal(whole.values, same.values));
  }
}

// Batches of an epoch that waits for its shards end with it, however many are prepared at once.
TEST_F(TableTest, NoBatchIsPreparedBeforeItsEpochBegins) {
  std::string text = "n,y\n";
  for (int row = 0; row < 40; ++row) text += fmt::format("{},{}\n", row, row % 2);
  const DataSource source = open_data(settings(write("a.csv", text)), 1);
  Prefetcher prefetcher(1);
  Loader loader(source.train, {{.node = 0, .samples = {0, 1, 2}}}, {.batch = 2, .waits_for_epochs = true},
                prefetcher);
  for (std::uint32_t epoch = 0; epoch < 3; ++epoch) {
    EXPECT_THROW(loader.next(), std::logic_error);
    const std::vector<std::uint32_t> shard{3 * epoch, 3 * epoch + 1, 3 * epoch + 2};
    loader.begin_epoch(epoch, {{.node = 0, .samples = shard}});
    std::multiset<float> expected, found;
    for (const std::uint32_t index : shard) expected.insert(sample(*source.train, index)[0]);
    for (const std::size_t size : {2, 1}) {
      const Batch batch = loader.next();
      ASSERT_EQ(batch.size(), size);
      found.insert(batch.inputs.begin(), batch.inputs.end());
    }
    EXPECT_EQ(found, expected);
  }
}

TEST_F(TableTest, WeighsRareClasses) {
  std::string text = "x,y\n";
  for (int i = 0; i < 8; ++i) text += fmt::format("{},{}\n", i, i % 4 == 0 ? "rare" : "usual");
  DataSettings keys = settings(write("a.csv", text + "9,rare\n"));
  keys.test = Value{std::string("x == 9")};
  keys.class_weights = Value{std::string("balanced")};
  EXPECT_EQ(open_data(keys, 1).class_weights, (std::vector<float>{2, 8.0F / 12}));
  keys.class_weights = Value{Value::List{{1.0}}};
  expect_problem(keys, "data.class_weights has 1 numbers, and there are 2 classes");
}

}  // namespace
}  // namespace veche
