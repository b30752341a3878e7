#include "veche/runtime/record/nodes_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

namespace veche {
namespace {

constexpr auto kBetweenWrites = std::chrono::milliseconds(300);

double finite_or_zero(double value) { return std::isfinite(value) ? value : 0; }

std::string json_text(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void append_node(std::string& text, const NodeCounters& node, const NodeMember* member) {
  text += "{";
  if (member != nullptr)
    text += fmt::format("\"member\":{},\"name\":{},", json_text(member->id), json_text(member->name));
  fmt::format_to(std::back_inserter(text),
                 "\"steps\":{},\"compute_seconds\":{:.5g},\"waiting_seconds\":{:.5g},"
                 "\"communication_seconds\":{:.5g},\"bytes_sent\":{:.8g},\"staleness\":{:.4g},\"to\":[",
                 node.steps, finite_or_zero(node.computing), finite_or_zero(node.waiting),
                 finite_or_zero(node.communicating), finite_or_zero(node.bytes),
                 finite_or_zero(node.staleness));
  const char* between = "";
  for (const PeerBytes& to : node.to)
    if (to.bytes > 0) {
      fmt::format_to(std::back_inserter(text), "{}[{},{:.8g}]", between, to.peer, to.bytes);
      between = ",";
    }
  text += "]}";
}

}  // namespace

NodesFile::NodesFile(std::filesystem::path file)
    : file_(std::move(file)), unfinished_(file_.string() + ".new") {}

void NodesFile::write(std::uint64_t step, std::span<const ProgressReport> nodes,
                      std::span<const NodeMember> members) {
  const auto now = std::chrono::steady_clock::now();
  if (nodes.size() > kMostNodes || now < next_) return;
  next_ = now + kBetweenWrites;
  std::string text = fmt::format("{{\"step\":{},\"nodes\":[", step);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (i > 0) text += ",";
    append_node(text, nodes[i].going, members.size() == nodes.size() ? &members[i] : nullptr);
  }
  text += "]}\n";
  const int file = ::open(unfinished_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return;
  const ssize_t written = ::write(file, text.data(), text.size());
  ::close(file);
  if (written == static_cast<ssize_t>(text.size()))
    ::rename(unfinished_.c_str(), file_.c_str());
  else
    ::unlink(unfinished_.c_str());
}

}  // namespace veche
