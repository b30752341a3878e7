#include <fmt/format.h>

#include <cctype>
#include <charconv>

#include "veche/errors.h"
#include "veche/graph/io/graph_file.h"
#include "veche/graph/io/named_nodes.h"

namespace veche {
namespace {

// Tokens of a DOT file; skips comments and blanks. Empty at the end.
class Tokens {
 public:
  explicit Tokens(const std::string& text) : text_(text) { advance(); }

  const std::string& now() const { return token_; }
  bool quoted() const { return quoted_; }
  std::string take() {
    std::string taken = token_;
    advance();
    return taken;
  }
  void expect(const char* sign) {
    if (token_ != sign || quoted_) fail(fmt::format("'{}' was expected", sign));
    advance();
  }
  [[noreturn]] void fail(const std::string& why) const {
    throw RequestError(
        fmt::format("{}, but line {} has '{}'", why, line_, token_.empty() ? "the end" : token_));
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  void skip_blanks() {
    while (at_ < text_.size()) {
      const char c = peek();
      if (c == '#' || (c == '/' && peek(1) == '/')) {
        while (at_ < text_.size() && peek() != '\n') ++at_;
      } else if (c == '/' && peek(1) == '*') {
        const std::size_t end = text_.find("*/", at_ + 2);
        at_ = end == std::string::npos ? text_.size() : end + 2;
      } else if (std::isspace(static_cast<unsigned char>(c))) {
        if (c == '\n') ++line_;
        ++at_;
      } else {
        return;
      }
    }
  }
  static bool in_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' ||
           static_cast<unsigned char>(c) >= 128;
  }
  void advance() {
    skip_blanks();
    token_.clear();
    quoted_ = peek() == '"';
    if (quoted_) {
      for (++at_; at_ < text_.size() && peek() != '"'; ++at_) {
        if (peek() == '\\' && peek(1) == '"') ++at_;
        token_ += peek();
      }
      ++at_;
    } else if (peek() == '-' && (peek(1) == '-' || peek(1) == '>')) {
      token_ = text_.substr(at_, 2);
      at_ += 2;
    } else if (in_word(peek()) || (peek() == '-' && (in_word(peek(1))))) {
      do token_ += text_[at_++];
      while (in_word(peek()));
    } else if (at_ < text_.size()) {
      token_ = text_[at_++];
    }
  }

  const std::string& text_;
  std::size_t at_ = 0;
  int line_ = 1;
  std::string token_;
  bool quoted_ = false;
};

struct Attributes {
  std::optional<double> weight;
  std::string label;
};

// [key = value, ...]; returns the weight and the label.
Attributes read_attributes(Tokens& tokens) {
  Attributes found;
  while (tokens.now() == "[") {
    tokens.expect("[");
    while (tokens.now() != "]") {
      const std::string key = tokens.take();
      std::string value;
      if (tokens.now() == "=") {
        tokens.expect("=");
        value = tokens.take();
      }
      if (key.empty()) tokens.fail("']' was expected");
      if (key == "weight") {
        double number = 0;
        const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
        if (error != std::errc{} || end != value.data() + value.size()) {
          throw RequestError(fmt::format("the weight '{}' is not a number", value));
        }
        found.weight = number;
      }
      if (key == "label" && value != "\\N") found.label = value;  // \N is the node's name
      if (tokens.now() == "," || tokens.now() == ";") tokens.take();
    }
    tokens.expect("]");
  }
  return found;
}

std::string read_name(Tokens& tokens) {
  if (!tokens.quoted() && (tokens.now() == "{" || tokens.now() == "subgraph")) {
    tokens.fail("only plain nodes and edges are read, no subgraphs");
  }
  if (tokens.now().empty()) tokens.fail("a node was expected");
  std::string name = tokens.take();
  if (tokens.now() == ":") {  // a port, relevant only for drawing
    tokens.expect(":");
    tokens.take();
  }
  return name;
}

void read_statement(Tokens& tokens, bool directed, NamedNodes& nodes) {
  std::vector<std::string> chain{read_name(tokens)};
  if (tokens.now() == "=") {  // a drawing attribute
    tokens.expect("=");
    tokens.take();
    return;
  }
  const char* arrow = directed ? "->" : "--";
  while (tokens.now() == "--" || tokens.now() == "->") {
    tokens.expect(arrow);
    chain.push_back(read_name(tokens));
  }
  const Attributes found = read_attributes(tokens);
  const bool setting = chain.size() == 1 && (chain[0] == "node" || chain[0] == "edge" || chain[0] == "graph");
  if (chain.size() == 1 && !setting) nodes.label(chain[0], found.label);
  for (std::size_t i = 0; i + 1 < chain.size(); ++i) nodes.link(chain[i], chain[i + 1], found.weight);
}

}  // namespace

std::vector<StoredGraph> read_dot(const std::string& text) {
  Tokens tokens(text);
  if (tokens.now() == "strict") tokens.take();
  const bool directed = tokens.now() == "digraph";
  if (!directed && tokens.now() != "graph") tokens.fail("'graph' or 'digraph' was expected");
  tokens.take();
  if (tokens.now() != "{" || tokens.quoted()) tokens.take();
  tokens.expect("{");
  NamedNodes nodes;
  while (tokens.now() != "}" || tokens.quoted()) {
    if (tokens.now().empty()) tokens.fail("'}' was expected");
    if (tokens.now() == ";") {
      tokens.take();
    } else {
      read_statement(tokens, directed, nodes);
    }
  }
  return {nodes.finish(directed)};
}

}  // namespace veche
