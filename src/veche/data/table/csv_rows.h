#pragma once

#include <csv.h>

#include <cstddef>
#include <new>
#include <string_view>

namespace veche {

// Cuts whole rows of CSV text into cells, by libcsv: quoted cells, doubled quotation marks, CRLF.
// Empty lines are passed over, and spaces around a cell that is not quoted are removed. One thread.
class CsvRows {
 public:
  explicit CsvRows(char separator) {
    if (csv_init(&parser_, 0) != 0) throw std::bad_alloc();
    csv_set_delim(&parser_, static_cast<unsigned char>(separator));
  }
  ~CsvRows() { csv_free(&parser_); }
  CsvRows(const CsvRows&) = delete;
  CsvRows& operator=(const CsvRows&) = delete;

  // Calls handler.cell(text) for each cell and handler.end_row() after the last one of a row.
  // Neither may throw, as libcsv is written in C. The text is valid during the call.
  template <class Handler>
  void parse(std::string_view rows, Handler& handler) {
    const auto cell = [](void* text, std::size_t length, void* to) {
      static_cast<Handler*>(to)->cell({static_cast<const char*>(text), length});
    };
    const auto end_row = [](int, void* to) { static_cast<Handler*>(to)->end_row(); };
    if (csv_parse(&parser_, rows.data(), rows.size(), cell, end_row, &handler) != rows.size() ||
        csv_fini(&parser_, cell, end_row, &handler) != 0)
      throw std::bad_alloc();  // the only failure outside of its strict mode
  }

 private:
  csv_parser parser_{};
};

}  // namespace veche
