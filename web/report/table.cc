#include "web/report/table.h"

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
  for (std::size_t at = 0; (at = result.find("±", at)) != std::string::npos;)
    result.replace(at, std::string_view("±").size(), "$\\pm$");
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
  if (cells.size() != rows_.front().size()) throw std::invalid_argument("a row of another length");
  rows_.push_back(std::move(cells));
}

std::string Sheet::to_html(const std::string& caption) const {
  std::string text = "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"" + html(caption) +
                     "\"><table><caption>" + html(caption) + "</caption>\n";
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    text += r == 0 ? "<thead><tr>" : r == 1 ? "<tbody>\n<tr>" : "<tr>";
    for (std::size_t c = 0; c < rows_[r].size(); ++c) {
      const std::string kind = r == 0 ? "th scope=\"col\"" : c == 0 ? "th scope=\"row\"" : "td";
      text += "<" + kind + (c < left_ ? " class=\"word\"" : "") + ">" + html(rows_[r][c]) + "</" +
              kind.substr(0, 2) + ">";
    }
    text += r == 0 ? "</tr></thead>\n" : "</tr>\n";
  }
  return text + (rows_.size() > 1 ? "</tbody>" : "") + "</table></div>\n";
}

std::string Sheet::to_markdown() const {
  std::string text;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    text += "|";
    for (const std::string& cell : rows_[r]) text += " " + markdown(cell) + " |";
    text += "\n";
    if (r > 0) continue;
    text += "|";
    for (std::size_t c = 0; c < rows_[r].size(); ++c) text += c < left_ ? "---|" : "---:|";
    text += "\n";
  }
  return text;
}

std::string Sheet::to_latex(const std::string& caption) const {
  std::string text = "% \\usepackage{booktabs}\n\\begin{table}\n\\centering\n\\caption{" + latex(caption) +
                     "}\n\\begin{tabular}{" + std::string(std::min(left_, rows_.front().size()), 'l') +
                     std::string(rows_.front().size() - std::min(left_, rows_.front().size()), 'r') +
                     "}\n\\toprule\n";
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    for (std::size_t c = 0; c < rows_[r].size(); ++c) text += (c == 0 ? "" : " & ") + latex(rows_[r][c]);
    text += r == 0 ? " \\\\\n\\midrule\n" : " \\\\\n";
  }
  return text + "\\bottomrule\n\\end{tabular}\n\\end{table}\n";
}

std::string Sheet::to_csv() const {
  std::string text;
  for (const auto& cells : rows_) {
    for (std::size_t c = 0; c < cells.size(); ++c) text += (c == 0 ? "" : ",") + csv(cells[c]);
    text += "\r\n";
  }
  return text;
}

}  // namespace veche::web
