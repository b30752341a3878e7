#include "web/report/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>

namespace veche::web {
namespace {

std::string replaced(const std::string& text, const auto& as) {
  std::string result;
  for (const char c : text) {
    const std::string_view other = as(c);
    if (other.data() == nullptr)
      result += c;
    else
      result += other;
  }
  return result;
}

std::string latex(const std::string& text) {
  std::string result = replaced(text, [](char c) -> std::string_view {
    switch (c) {
      case '\\':
        return "\\textbackslash{}";
      case '~':
        return "\\textasciitilde{}";
      case '^':
        return "\\textasciicircum{}";
      case '&':
        return "\\&";
      case '%':
        return "\\%";
      case '$':
        return "\\$";
      case '#':
        return "\\#";
      case '_':
        return "\\_";
      case '{':
        return "\\{";
      case '}':
        return "\\}";
      case '<':
        return "\\textless{}";
      case '>':
        return "\\textgreater{}";
      case '\n':
      case '\r':
        return " ";
      default:
        return {};
    }
  });
  constexpr std::pair<std::string_view, std::string_view> kSigns[] = {
      {"±", "$\\pm$"}, {"\u00a0", "~"}, {"–", "--"}};
  for (const auto& [sign, as] : kSigns)
    for (std::size_t at = 0; (at = result.find(sign, at)) != std::string::npos;)
      result.replace(at, sign.size(), as);
  return result;
}

std::string markdown(const std::string& text) {
  return replaced(text, [](char c) -> std::string_view {
    switch (c) {
      case '|':
        return "\\|";
      case '<':
        return "&lt;";
      case '>':
        return "&gt;";
      case '&':
        return "&amp;";
      case '\n':
      case '\r':
        return " ";
      default:
        return {};
    }
  });
}

std::string csv(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  return "\"" +
         replaced(text, [](char c) -> std::string_view { return c == '"' ? "\"\"" : std::string_view(); }) +
         "\"";
}

}  // namespace

std::string html(const std::string& text) {
  return replaced(text, [](char c) -> std::string_view {
    switch (c) {
      case '&':
        return "&amp;";
      case '<':
        return "&lt;";
      case '>':
        return "&gt;";
      case '"':
        return "&quot;";
      case '\'':
        return "&#39;";
      case '\t':
      case '\n':
        return {};
      default:
        return static_cast<unsigned char>(c) < 0x20 ? std::string_view("") : std::string_view();
    }
  });
}

void Sheet::row(std::vector<std::string> cells) {
  if (cells.size() != head_.size()) throw std::invalid_argument("a row of another length");
  rows_.push_back(std::move(cells));
}

std::vector<std::vector<std::string>> Sheet::all() const {
  std::vector<std::vector<std::string>> all(1);
  for (const Words& words : head_) all.front().push_back(words.english);
  all.insert(all.end(), rows_.begin(), rows_.end());
  return all;
}

std::string Sheet::to_html(const Words& caption) const {
  const auto kind = [&](std::size_t column) {
    const bool word = column < left_;
    return std::string(word ? " class=\"word" : " class=\"n") + (aside_[column] ? " aside\"" : "\"");
  };
  std::string text = "<table><caption>" + spoken(caption) + "</caption>\n<thead><tr>";
  for (std::size_t c = 0; c < head_.size(); ++c)
    text += fmt::format("<th scope=\"col\"{}>{}</th>",
                        c < left_   ? kind(c)
                        : aside_[c] ? " class=\"aside\""
                                    : "",
                        spoken(head_[c]));
  text += "</tr></thead>\n<tbody>\n";
  for (const auto& row : rows_) {
    text += "<tr>";
    for (std::size_t c = 0; c < row.size(); ++c)
      text += c == 0 ? fmt::format("<th scope=\"row\"{}>{}</th>", kind(c), html(row[c]))
                     : fmt::format("<td{}>{}</td>", kind(c), html(row[c]));
    text += "</tr>\n";
  }
  return text + "</tbody></table>\n";
}

std::string Sheet::to_markdown() const {
  const auto rows = all();
  std::string text;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    text += "|";
    for (const std::string& cell : rows[r]) text += " " + markdown(cell) + " |";
    text += "\n";
    if (r > 0) continue;
    text += "|";
    for (std::size_t c = 0; c < rows[r].size(); ++c) text += c < left_ ? "---|" : "---:|";
    text += "\n";
  }
  return text;
}

std::string Sheet::to_latex(const std::string& caption) const {
  const auto rows = all();
  std::string text = "% \\usepackage{booktabs}\n\\begin{table}\n\\centering\n\\caption{" + latex(caption) +
                     "}\n\\begin{tabular}{" + std::string(std::min(left_, head_.size()), 'l') +
                     std::string(head_.size() - std::min(left_, head_.size()), 'r') + "}\n\\toprule\n";
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t c = 0; c < rows[r].size(); ++c) text += (c == 0 ? "" : " & ") + latex(rows[r][c]);
    text += r == 0 ? " \\\\\n\\midrule\n" : " \\\\\n";
  }
  return text + "\\bottomrule\n\\end{tabular}\n\\end{table}\n";
}

std::string Sheet::to_csv() const {
  std::string text;
  for (const auto& cells : all()) {
    for (std::size_t c = 0; c < cells.size(); ++c) text += (c == 0 ? "" : ",") + csv(cells[c]);
    text += "\r\n";
  }
  return text;
}

}  // namespace veche::web
