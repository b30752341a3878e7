#include "veche/train/measure/trace.h"

#include <fmt/format.h>

namespace veche {
namespace {

constexpr double kMicroseconds = 1e6;

std::string quoted(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return '"' + escaped + '"';
}

}  // namespace

void Trace::span(const char* name, Time from, Time to, int micro_batch) {
  if (!(to > from)) return;
  if (spans_.size() == kMost) {
    ++left_out_;
    return;
  }
  spans_.push_back({name, from.count(), to.count(), micro_batch});
}

std::string Trace::events(NodeId node, const std::string& title) const {
  std::string all =
      fmt::format(R"({{"name":"process_name","ph":"M","pid":{0},"tid":0,"args":{{"name":{1}}}}},)"
                  "\n"
                  R"({{"name":"process_sort_index","ph":"M","pid":{0},"tid":0,"args":{{"sort_index":{0}}}}})",
                  node.value, quoted(title));
  for (const Span& span : spans_) {
    // Drawings of schedules label a pass with the number of its micro-batch.
    const std::string name =
        span.micro_batch < 0 ? span.name : fmt::format("{} {}", span.name, span.micro_batch);
    const std::string kind = span.micro_batch < 0 ? span.name : "compute";
    all += fmt::format(
        ",\n"
        R"({{"name":"{}","cat":"{}","ph":"X","pid":{},"tid":0,"ts":{:.3f},"dur":{:.3f}}})",
        name, kind, node.value, kMicroseconds * span.from, kMicroseconds * (span.to - span.from));
  }
  if (left_out_ > 0)
    all += fmt::format(
        ",\n"
        R"({{"name":"{} spans left out","ph":"i","s":"p","pid":{},"tid":0,"ts":{:.3f}}})",
        left_out_, node.value, kMicroseconds * spans_.back().to);
  return all;
}

std::string Trace::file(const std::vector<std::string>& of_nodes) {
  std::string all = R"({"displayTimeUnit":"ms","traceEvents":[)";
  for (std::size_t i = 0; i < of_nodes.size(); ++i) all += (i == 0 ? "\n" : ",\n") + of_nodes[i];
  return all + "\n]}\n";
}

}  // namespace veche
