#include "veche/compress/codec_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "veche/base/text/nearest.h"
#include "veche/errors.h"

namespace veche {
namespace {

using Kind = CodecSpec::Kind;
using Sum = CodecSpec::Sum;

// Everything that differs between codecs except the coding itself.
struct CodecLine {
  Kind kind;
  std::string name;
  std::string amount;  // name of the number after the colon; empty: none
  double least, most;  // range of the amount
  bool whole;
  bool biased;
  Sum sum;
  std::string rule;
};

constexpr double kSmallest = 1e-6;

const std::vector<CodecLine>& codec_lines() {
  static const std::vector<CodecLine> lines{
      {Kind::none, "none", "", 0, 0, false, false, Sum::no, "floats as they are"},
      {Kind::fp16, "fp16", "", 0, 0, false, false, Sum::halves,
       "half precision, finite numbers clamped to 65504"},
      {Kind::bf16, "bf16", "", 0, 0, false, false, Sum::halves, "the upper half of a float, rounded"},
      {Kind::int8, "int8", "", 0, 0, false, true, Sum::no, "blocks of 256 with a scale"},
      {Kind::qsgd, "qsgd", "LEVELS", 1, 127, true, false, Sum::no,
       "whole parts of the norm of a block of 256, rounded at random without bias"},
      {Kind::sign, "sign", "", 0, 0, false, true, Sum::no,
       "signs, with the mean of absolute values of each tensor"},
      {Kind::threshold, "threshold", "T", kSmallest, 1e6, false, true, Sum::no, "entries of at least T"},
      {Kind::topk, "topk", "F", kSmallest, 1, false, true, Sum::no, "a part F of the entries, the largest"},
      {Kind::randomk, "randomk", "F", kSmallest, 1, false, true, Sum::phases,
       "a part F of the entries, at random, the same on all nodes"},
      {Kind::dgc, "dgc", "F", kSmallest, 1, false, false, Sum::no,
       "deep gradient compression: the largest part F of gradients with momentum, warmed up"},
      {Kind::powersgd, "powersgd", "R", 1, 1024, true, true, Sum::phases, "matrices as products of rank R"},
      {Kind::powergossip, "powergossip", "R", 1, 1024, true, false, Sum::no,
       "the difference of two neighbours by power iterations of rank R"},
  };
  return lines;
}

const CodecLine& line_of(Kind kind) { return *std::ranges::find(codec_lines(), kind, &CodecLine::kind); }

std::string written(const CodecLine& line) {
  return line.amount.empty() ? line.name : line.name + ":" + line.amount;
}

[[noreturn]] void refuse_codec(std::string_view key, const std::string& what) {
  throw RequestError(std::string(key) + ": " + what);
}

}  // namespace

std::string CodecSpec::word() const {
  const CodecLine& line = line_of(kind);
  return line.amount.empty() ? line.name : fmt::format("{}:{}", line.name, amount);
}

bool CodecSpec::biased() const { return line_of(kind).biased; }

CodecSpec::Sum CodecSpec::sum() const { return zstd ? Sum::no : line_of(kind).sum; }

bool CodecSpec::needs_layout() const { return kind == Kind::powersgd || kind == Kind::powergossip; }

bool CodecSpec::gradients_only() const { return kind == Kind::dgc; }

bool CodecSpec::edges_only() const { return kind == Kind::powergossip; }

double CodecSpec::gamma() const {
  switch (kind) {
    case Kind::qsgd:
      return std::min(1.0, amount / 12);
    case Kind::sign:
      return 0.7;
    case Kind::topk:  // 0.0375 for one per cent
      return std::min(1.0, 0.0375 * std::pow(amount / 0.01, 0.85));
    case Kind::randomk:
      return std::min(1.0, amount / 2);
    case Kind::threshold:  // copies are never off by more than T
      return 0.5;
    case Kind::powersgd:  // with a larger gamma, nodes drift apart within epochs
      return std::min(1.0, 0.0025 * amount);
    default:
      return 1;
  }
}

CodecSpec parse_codec(std::string_view key, std::string_view word) {
  const auto colon = word.find(':');
  const std::string name(word.substr(0, colon));
  const auto line = std::ranges::find(codec_lines(), name, &CodecLine::name);
  if (line == codec_lines().end()) {
    std::vector<std::string> names;
    for (const CodecLine& known : codec_lines()) names.push_back(known.name);
    refuse_codec(key, "there is no codec '" + name + "'" + suggestion(name, names));
  }
  CodecSpec spec{.kind = line->kind};
  if (line->amount.empty()) {
    if (colon != std::string_view::npos)
      refuse_codec(key, fmt::format("'{}' takes no parameter, not '{}'", name, word.substr(colon)));
    return spec;
  }
  const std::string_view text = colon == std::string_view::npos ? "" : word.substr(colon + 1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), spec.amount);
  const bool good = error == std::errc() && end == text.data() + text.size() && spec.amount >= line->least &&
                    spec.amount <= line->most && (!line->whole || spec.amount == std::floor(spec.amount));
  if (!good)
    refuse_codec(key, fmt::format("'{}' must be {}, {} a {}number from {} to {}", word, written(*line),
                                  line->amount, line->whole ? "whole " : "", line->least, line->most));
  return spec;
}

const std::vector<CodecHelp>& codec_help() {
  static const std::vector<CodecHelp> help = [] {
    std::vector<CodecHelp> result;
    for (const CodecLine& line : codec_lines()) result.push_back({written(line), line.rule});
    return result;
  }();
  return help;
}

}  // namespace veche
