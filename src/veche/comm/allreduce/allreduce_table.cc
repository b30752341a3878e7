#include "veche/comm/allreduce/allreduce_table.h"

#include <toml++/toml.h>

#include <cmath>
#include <fstream>
#include <tuple>

#include "veche/base/files/read_text.h"
#include "veche/base/text/nesting.h"
#include "veche/comm/engine_collectives.h"
#include "veche/errors.h"

namespace veche {
namespace {

constexpr std::uintmax_t kLargestTable = 1 << 20;

// The absolute logarithm of a ratio; values below one count as one.
double ratio(double a, double b) { return std::abs(std::log(std::max(a, 1.0) / std::max(b, 1.0))); }

AllReduceTable::Row row_of(const toml::node& node) {
  const toml::table* entry = node.as_table();
  if (entry == nullptr) throw RequestError("an entry is not a table");
  const auto nodes = (*entry)["nodes"].value<std::int64_t>();
  const auto bytes = (*entry)["bytes"].value<std::int64_t>();
  const auto name = (*entry)["algorithm"].value<std::string>();
  if (!nodes || *nodes < 1 || !bytes || *bytes < 0 || !name)
    throw RequestError("an entry needs nodes, bytes and algorithm");
  const AllReduceAlgorithm algorithm = all_reduce_named(*name);
  if (algorithm == AllReduceAlgorithm::automatic) throw RequestError("an entry cannot be \"auto\"");
  constexpr std::int64_t kMostNodes = 1 << 30;
  return {static_cast<int>(std::min(*nodes, kMostNodes)), static_cast<std::size_t>(*bytes), algorithm};
}

std::string read_table(const std::filesystem::path& file) try {
  return read_text(file, "the table " + file.string(), kLargestTable);
} catch (const RequestError& error) {
  throw RequestError(std::string(error.what()) + "; make one with 'veche bench allreduce --tune FILE'");
}

}  // namespace

AllReduceTable AllReduceTable::read(const std::filesystem::path& file) {
  const std::string text = read_table(file);
  try {
    check_toml_nesting(text);
    const toml::table table = toml::parse(text);
    std::vector<Row> rows;
    if (const toml::array* entries = table["entry"].as_array())
      for (const toml::node& entry : *entries) rows.push_back(row_of(entry));
    if (rows.empty()) throw RequestError("it has no [[entry]]");
    return AllReduceTable(std::move(rows));
  } catch (const toml::parse_error& error) {
    throw RequestError("the table " + file.string() + " cannot be read: " + std::string(error.description()) +
                       "; make one with 'veche bench allreduce --tune FILE'");
  } catch (const RequestError& error) {
    throw RequestError("the table " + file.string() + " is not one of all-reduce algorithms: " +
                       error.what() + "; make one with 'veche bench allreduce --tune FILE'");
  }
}

void AllReduceTable::write(const std::filesystem::path& file) const {
  std::ofstream out(file);
  out << "# Measured by 'veche bench allreduce --tune'. Read by strategy.table = \"" << file.string()
      << "\".\n";
  for (const Row& row : rows_)
    out << "\n[[entry]]\nnodes = " << row.nodes << "\nbytes = " << row.bytes << "\nalgorithm = \""
        << name_of(row.algorithm) << "\"\n";
  out.close();
  if (!out) throw RunError("the table " + file.string() + " cannot be written");
}

AllReduceAlgorithm AllReduceTable::choose(int nodes, std::size_t bytes) const {
  if (rows_.size() == 1) return rows_.front().algorithm;  // a short sum takes only a microsecond
  // Ties go to the smaller row, whatever the order.
  const auto distance = [&](const Row& row) {
    return std::tuple(ratio(row.nodes, nodes), row.nodes,
                      ratio(static_cast<double>(row.bytes), static_cast<double>(bytes)), row.bytes);
  };
  return std::ranges::min_element(rows_, {}, distance)->algorithm;
}

namespace {

// Few messages while they are small, few bytes when they are large; beyond 16 nodes all-to-all no
// longer pays.
const AllReduceTable& by_messages() {
  using enum AllReduceAlgorithm;
  static const AllReduceTable table({{8, 1 << 10, all_to_all},
                                     {8, 1 << 14, native},
                                     {32, 1 << 10, halving_doubling},
                                     {32, 1 << 16, halving_doubling},
                                     {32, 1 << 20, ring}});
  return table;
}

const AllReduceTable& by_the_engine() {
  static const AllReduceTable table({{2, 0, AllReduceAlgorithm::native}});
  return table;
}

// MPI's nonblocking sums are slower than its blocking ones, and over a network they leave links
// idle that a segmented ring keeps busy: between few ranks the ring is faster.
const AllReduceTable& ring_if_long() {
  using enum AllReduceAlgorithm;
  static const AllReduceTable table({{8, 1 << 12, native}, {8, 1 << 20, ring}, {64, 1 << 20, native}});
  return table;
}

}  // namespace

const AllReduceTable& default_table(Endpoint& endpoint, bool overlapping) {
  const EngineCollectives* native = endpoint.collectives();
  if (native == nullptr) return by_messages();
  return (overlapping && native->overlaps()) || native->between_hosts() ? ring_if_long() : by_the_engine();
}

}  // namespace veche
