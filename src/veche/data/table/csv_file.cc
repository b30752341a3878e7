#include "veche/data/table/csv_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "veche/data/table/cell.h"
#include "veche/data/table/csv_rows.h"
#include "veche/data/table/csv_text.h"
#include "veche/errors.h"

namespace veche {
namespace {

constexpr std::size_t kBlock = 2 << 20;
constexpr std::size_t kLongestRow = 64 << 20;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

struct RowsOfText {
  void cell(std::string_view text) { row.emplace_back(text); }
  void end_row() { rows.push_back(std::move(row)), row.clear(); }
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> row;
};

std::vector<std::vector<std::string>> rows_of(std::string_view text, char separator) {
  RowsOfText rows;
  CsvRows(separator).parse(text, rows);
  return std::move(rows.rows);
}

// The separator that cuts the first rows into equally many cells, the more the better.
char find_separator(std::string_view text) {
  constexpr std::size_t kRows = 20;
  char best = ',';
  std::size_t most = 1;
  for (const char separator : {',', ';', '\t', '|'}) {
    const std::size_t length = length_of_rows(text, separator);
    std::size_t end = 0;
    for (std::size_t row = 0; row < kRows && end < length; ++row)
      end = std::min(text.find('\n', end), length - 1) + 1;
    const auto rows = rows_of(text.substr(0, end), separator);
    if (rows.empty()) continue;
    const std::size_t cells = rows.front().size();
    // The last row may have been cut inside of quotation marks.
    const auto whole = rows.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(rows.size() - 1, 1));
    const auto fitting =
        std::count_if(rows.begin(), whole, [&](const auto& row) { return row.size() == cells; });
    // One damaged row among the first ones does not change the separator.
    if (cells > most && 10 * fitting >= 8 * (whole - rows.begin())) {
      best = separator;
      most = cells;
    }
  }
  return best;
}

}  // namespace

CsvFile::CsvFile(const std::filesystem::path& path) : path_(path), file_(path) {
  if (!file_.packed()) size_ = std::filesystem::file_size(path);
  read_head();
}

// Appends what the file gives, up to the size of a block; returns how much.
std::size_t CsvFile::fill(std::vector<char>& memory, std::size_t from) {
  memory.resize(from + kBlock);
  const std::size_t got = file_.read({reinterpret_cast<std::uint8_t*>(memory.data()) + from, kBlock});
  memory.resize(from + got);
  ended_ = got < kBlock;
  return got;
}

void CsvFile::read_head() {
  fill(rest_, 0);
  if (std::string_view(rest_.data(), rest_.size()).starts_with(kByteOrderMark))
    rest_.erase(rest_.begin(), rest_.begin() + kByteOrderMark.size());
  const std::string_view text(rest_.data(), rest_.size());
  if (text.find('\0') != text.npos)
    throw RequestError(fmt::format("'{}' is no table: it holds bytes that are no text", path_.string()));
  separator_ = find_separator(text);
  // The first row, which may have lines in quotation marks.
  std::size_t end = 0;
  std::vector<std::vector<std::string>> rows;
  do {
    end = std::min(text.find('\n', end), text.size() - (text.empty() ? 0 : 1)) + 1;
    const bool whole = end >= text.size() || length_of_rows(text.substr(0, end), separator_) == end;
    if (whole) rows = rows_of(text.substr(0, std::min(end, text.size())), separator_);
  } while (rows.empty() && end < text.size());
  if (rows.empty())
    throw RequestError(fmt::format("'{}' is empty: its first line must name the columns", path_.string()));
  columns_ = rows.front();
  if (std::ranges::all_of(columns_,
                          [](const std::string& name) { return read_number(name) || is_missing(name); }))
    throw RequestError(
        fmt::format("'{}', line 1: its first line must name the columns, and holds values", path_.string()));
  std::set<std::string> seen;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].empty()) columns_[i] = fmt::format("column {}", i + 1);
    if (!seen.insert(columns_[i]).second)
      throw RequestError(
          fmt::format("'{}', line 1: two columns are named '{}'", path_.string(), shown(columns_[i])));
  }
  end = std::min(end, rest_.size());
  line_ += static_cast<std::uint64_t>(
      std::count(rest_.begin(), rest_.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
  rest_.erase(rest_.begin(), rest_.begin() + static_cast<std::ptrdiff_t>(end));
}

bool CsvFile::next(Block& block) {
  block.memory.swap(rest_);
  rest_.clear();
  while (!ended_ && block.memory.size() < kBlock) fill(block.memory, block.memory.size());
  for (;;) {
    const std::size_t length =
        ended_ ? block.memory.size() : length_of_rows({block.memory.data(), block.memory.size()}, separator_);
    if (length > 0 || ended_) {
      rest_.assign(block.memory.begin() + static_cast<std::ptrdiff_t>(length), block.memory.end());
      block.memory.resize(length);
      break;
    }
    if (block.memory.size() > kLongestRow)
      throw RequestError(
          fmt::format("'{}', line {}: a row of more than {} MB begins here: is a quotation mark not closed?",
                      path_.string(), line_, kLongestRow >> 20));
    fill(block.memory, block.memory.size());
  }
  block.number = number_++;
  block.first_line = line_;
  line_ += static_cast<std::uint64_t>(std::ranges::count(block.memory, '\n'));
  return !block.memory.empty();
}

}  // namespace veche
