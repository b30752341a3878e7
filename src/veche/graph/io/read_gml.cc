#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <map>

#include "veche/errors.h"
#include "veche/graph/io/gml_text.h"
#include "veche/graph/io/graph_file.h"
#include "veche/graph/io/named_nodes.h"

namespace veche {
namespace {

// Tokens of a GML file: keys, numbers, strings and brackets; skips comments.
class GmlWords {
 public:
  enum class Kind { key, number, string, open, close, end };

  explicit GmlWords(std::string_view text) : text_(text) { advance(); }

  Kind kind() const { return kind_; }
  int line() const { return line_; }
  std::string take() {
    std::string taken = std::move(word_);
    advance();
    return taken;
  }
  std::string key() {
    if (kind_ != Kind::key) fail("a key was expected");
    return take();
  }
  void open() {
    if (kind_ != Kind::open) fail("'[' was expected");
    advance();
  }
  // Skips a value, or a list with its contents.
  void skip() {
    std::size_t depth = 0;
    do {
      if (kind_ == Kind::end) fail(depth > 0 ? "']' was expected" : "a value was expected");
      if (kind_ == Kind::close && depth == 0) fail("a value was expected");
      if (kind_ == Kind::open) ++depth;
      if (kind_ == Kind::close) --depth;
      advance();
    } while (depth > 0);
  }
  [[noreturn]] void fail(const std::string& why) const {
    throw RequestError(
        fmt::format("{}, but line {} has '{}'", why, line_, kind_ == Kind::end ? "the end" : word_));
  }

 private:
  void skip_blanks() {
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '#') at_ = std::min(text_.find_first_of("\r\n", at_), text_.size());
      if (at_ == text_.size() || std::isspace(static_cast<unsigned char>(text_[at_])) == 0) return;
      if (text_[at_] == '\n') ++line_;
    }
  }
  void read_string() {
    const std::size_t end = text_.find('"', at_ + 1);
    if (end == std::string_view::npos)
      throw RequestError(fmt::format("the string that begins in line {} has no end", line_));
    const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
    word_ = decode_entities(inside);
    for (const char c : inside) line_ += c == '\n';
    at_ = end + 1;
    kind_ = Kind::string;
  }
  void advance() {
    skip_blanks();
    word_.clear();
    kind_ = Kind::end;
    if (at_ == text_.size()) return;
    const char first = text_[at_];
    if (first == '"') return read_string();
    if (first == '[' || first == ']') {
      kind_ = first == '[' ? Kind::open : Kind::close;
      word_ = text_[at_++];
      return;
    }
    const std::size_t end = std::min(text_.find_first_of(" \t\r\n\v\f[]\"", at_), text_.size());
    word_ = text_.substr(at_, end - at_);
    at_ = end;
    kind_ = std::isalpha(static_cast<unsigned char>(first)) != 0 || first == '_' ? Kind::key : Kind::number;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
  Kind kind_ = Kind::end;
  std::string word_;
};

double gml_number(const std::string& word, const char* key, int line) {
  const std::size_t plus = word.starts_with('+') ? 1 : 0;
  double value = 0;
  const char* const last = word.data() + word.size();
  const auto [end, error] = std::from_chars(word.data() + plus, last, value);
  if (error != std::errc{} || end != last)
    throw RequestError(fmt::format("the {} '{}' in line {} is not a number", key, word, line));
  return value;
}

// The scalar values of a list, by key.
class GmlFields {
 public:
  GmlFields(GmlWords& words, std::string what) : what_(std::move(what)), line_(words.line()) {
    words.open();
    while (words.kind() != GmlWords::Kind::close) {
      std::string key = words.key();
      if (words.kind() == GmlWords::Kind::open)
        words.skip();
      else if (words.kind() == GmlWords::Kind::close || words.kind() == GmlWords::Kind::end)
        words.fail(fmt::format("a value of '{}' was expected", key));
      else
        values_.emplace(std::move(key), words.take());
    }
    words.take();
  }

  std::string needed(const char* key) const {
    const auto found = values_.find(key);
    if (found == values_.end())
      throw RequestError(fmt::format("the {} in line {} has no '{}'", what_, line_, key));
    return found->second;
  }
  std::string maybe(const char* key) const {
    const auto found = values_.find(key);
    return found == values_.end() ? "" : found->second;
  }
  std::optional<double> number(const char* key) const {
    const auto found = values_.find(key);
    if (found == values_.end()) return std::nullopt;
    return gml_number(found->second, key, line_);
  }

 private:
  const std::string what_;
  const int line_;
  std::map<std::string, std::string, std::less<>> values_;
};

StoredGraph read_gml_graph(GmlWords& words) {
  NamedNodes nodes;
  bool directed = false;
  words.open();
  while (words.kind() != GmlWords::Kind::close) {
    if (words.kind() == GmlWords::Kind::end) words.fail("']' was expected");
    const std::string key = words.key();
    if (key == "node") {
      const GmlFields node(words, key);
      nodes.label(node.needed("id"), node.maybe("label"));
    } else if (key == "edge") {
      const GmlFields edge(words, key);
      nodes.link(edge.needed("source"), edge.needed("target"), edge.number("weight"));
    } else if (key == "directed" && words.kind() == GmlWords::Kind::number) {
      const int line = words.line();
      directed = gml_number(words.take(), "directed", line) != 0;
    } else {
      words.skip();
    }
  }
  words.take();
  return nodes.finish(directed);
}

}  // namespace

// graph [ directed 0 node [ id 0 label "x" ] edge [ source 0 target 1 weight 0.5 ] ]; other keys
// are ignored.
std::vector<StoredGraph> read_gml(const std::string& text) {
  GmlWords words(text);
  std::vector<StoredGraph> graphs;
  while (words.kind() != GmlWords::Kind::end) {
    if (words.key() != "graph") {
      words.skip();
      continue;
    }
    if (!graphs.empty()) throw RequestError("it has two graphs, where one is wanted");
    graphs.push_back(read_gml_graph(words));
  }
  if (graphs.empty()) throw RequestError("it has no 'graph [ ... ]'");
  return graphs;
}

}  // namespace veche
