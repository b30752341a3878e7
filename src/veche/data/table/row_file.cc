#include "veche/data/table/row_file.h"

#include <fmt/format.h>

#include <cmath>

#include "veche/data/table/cell.h"
#include "veche/data/table/csv_text.h"

namespace veche {
RowFile::RowFile(const std::filesystem::path& path, const TableScheme& scheme)
    : scheme_(scheme),
      encoder_(scheme),
      file_(path),
      layout_(layout_of(file_, scheme)),
      plan_(layout_, file_, nullptr, false),
      reader_(plan_),
      names_(plan_.stride()),
      categories_(plan_.stride()) {}

std::vector<RowFile::Row> RowFile::next() {
  std::vector<Row> rows;
  while (rows.empty() && file_.next(block_)) {
    reader_.read(block_.rows(), cells_);
    learn_names();
    const std::vector<std::uint64_t> lines = lines_of_rows(block_.rows(), plan_.separator);
    rows.resize(cells_.all);
    auto problem = cells_.problems.begin();
    const float* cells = cells_.cells.data();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows[i].line = block_.first_line + lines[i];
      if (problem != cells_.problems.end() && problem->row == i) {
        rows[i].damage = (problem++)->what;
        continue;
      }
      finish(rows[i], cells);
      cells += plan_.stride();
    }
  }
  return rows;
}

void RowFile::learn_names() {
  for (std::size_t c = 0; c < names_.size(); ++c) {
    if (!plan_.names[c]) continue;
    names_[c] = plan_.names[c]->names();
    const auto& known = c < scheme_.columns.size() ? scheme_.columns[c].categories : scheme_.target.classes;
    for (std::size_t i = categories_[c].size(); i < names_[c].size(); ++i)
      categories_[c].push_back(place_in(known, names_[c][i]));
  }
}

void RowFile::finish(Row& row, const float* cells) const {
  row.sample.resize(scheme_.width());
  for (std::size_t c = 0; c < scheme_.columns.size(); ++c) {
    if (scheme_.columns[c].kind != ColumnKind::category) {
      encoder_.put_number(c, cells[c], row.sample);
      continue;
    }
    std::int32_t category = -1;
    if (!std::isnan(cells[c])) {
      const auto number = static_cast<std::size_t>(cells[c]);
      category = number < categories_[c].size() ? categories_[c][number] : -1;
      if (category < 0) {
        row.damage = fmt::format("{} is '{}', a category that no training row has", scheme_.columns[c].name,
                                 number < names_[c].size() ? shown(names_[c][number]) : "..");
        row.sample.clear();
        return;
      }
    }
    encoder_.put_category(c, category, row.sample);
  }
  const std::size_t target = scheme_.columns.size();
  if (!layout_.target || std::isnan(cells[target])) return;
  if (scheme_.target.task == Task::regression) {
    row.value = cells[target];
  } else if (const auto number = static_cast<std::size_t>(cells[target]);
             number < categories_[target].size() && categories_[target][number] >= 0) {
    row.label = static_cast<std::size_t>(categories_[target][number]);
  }
}

}  // namespace veche
