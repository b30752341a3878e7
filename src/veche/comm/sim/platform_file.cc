#include "veche/comm/sim/platform_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <pugixml.hpp>
#include <set>

#include "veche/base/files/read_text.h"
#include "veche/base/machine/memory.h"
#include "veche/comm/sim/sim.h"
#include "veche/errors.h"

namespace veche {
namespace {

constexpr std::uintmax_t kMostBytes = 256 << 20;  // of a file
constexpr int kMostNesting = 64;
constexpr double kOldestVersion = 4;
constexpr double kBytesPerHost = 4000;  // memory that SimGrid needs, with a link each way

using Names = std::set<std::string, std::less<>>;

// The elements from which SimGrid builds a platform; <trace> and <trace_connect> become profiles.
const Names kElements{"platform", "zone",      "AS",           "host",          "router",          "link",
                      "backbone", "cluster",   "cabinet",      "peer",          "host_link",       "route",
                      "ASroute",  "zoneRoute", "bypassRoute",  "bypassASroute", "bypassZoneRoute", "link_ctn",
                      "config",   "trace",     "trace_connect"};
// Elements without effect here: energy, disks, descriptions.
const Names kPassedOver{"prop", "disk", "random", "model_prop", "mount"};

const std::map<std::string, Names, std::less<>> kAmounts{
    {"host", {"speed"}},
    {"cluster", {"speed", "bw", "lat", "bb_bw", "bb_lat", "limiter_link", "loopback_bw", "loopback_lat"}},
    {"cabinet", {"speed", "bw", "lat"}},
    {"peer", {"speed", "bw_in", "bw_out", "lat"}},
    {"link", {"bandwidth", "latency"}},
    {"backbone", {"bandwidth", "latency"}}};

// Allowed settings: parameters of the network model; each is a number.
const Names kSettings{"network/TCP-gamma",   "network/bandwidth-factor", "network/latency-factor",
                      "network/loopback-bw", "network/loopback-lat",     "network/weight-S"};

const std::map<std::string, SimProfile::Of, std::less<>> kKinds{{"HOST_AVAIL", SimProfile::Of::host_state},
                                                                {"LINK_AVAIL", SimProfile::Of::link_state},
                                                                {"SPEED", SimProfile::Of::speed},
                                                                {"BANDWIDTH", SimProfile::Of::bandwidth},
                                                                {"LATENCY", SimProfile::Of::latency}};

bool at_least_zero(const char* text, const char** rest) {
  char* end = nullptr;
  const double value = std::strtod(text, &end);
  *rest = end;
  return end != text && std::isfinite(value) && value >= 0 && !std::signbit(value);
}

class Reader {
 public:
  explicit Reader(const SimNetwork& network)
      : network_(network),
        what_(fmt::format("network.platform = \"{}\"", network.platform)),
        text_(read_text(network.platform, what_, kMostBytes)) {
    for (std::size_t i = 0; i < text_.size(); ++i)
      if (text_[i] == '\n') ends_.push_back(i);
  }

  SimPlatform read() {
    pugi::xml_document document;
    const pugi::xml_parse_result parsed =
        document.load_buffer(text_.data(), text_.size(), pugi::parse_default, pugi::encoding_utf8);
    if (!parsed) refuse(line_at(parsed.offset), fmt::format("it is not XML ({})", parsed.description()));
    const pugi::xml_node root = document.document_element();
    if (std::string_view(root.name()) != "platform")
      refuse(line_at(0), "it has no <platform>, as SimGrid's platforms have");
    out_ = "<?xml version='1.0'?><!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">";
    element(root, 0);
    check_memory(kBytesPerHost * hosts_, fmt::format("{} has {:.0f} hosts and", what_, hosts_),
                 "describe fewer hosts");
    return {network_.platform, std::move(out_), std::move(profiles_)};
  }

 private:
  [[noreturn]] void refuse(int line, const std::string& why) const {
    throw RequestError(fmt::format("{} cannot be simulated: line {}: {}", what_, line, why));
  }
  int line_at(std::ptrdiff_t offset) const {
    return 1 + static_cast<int>(std::ranges::lower_bound(ends_, static_cast<std::size_t>(offset)) -
                                ends_.begin());
  }
  static std::string of(const pugi::xml_node& node) {
    const std::string_view id = node.attribute("id").value();
    return id.empty() ? fmt::format("<{}>", node.name()) : fmt::format("<{} id=\"{}\">", node.name(), id);
  }

  void element(const pugi::xml_node& node, int depth) {
    const std::string_view name = node.name();
    const int line = line_at(node.offset_debug());
    if (kPassedOver.contains(name)) return;
    if (!kElements.contains(name))
      refuse(line,
             name == "actor" || name == "process"
                 ? fmt::format(
                       "<{}> belongs into a deployment file, and nodes are the actors here: remove it", name)
                 : fmt::format("<{}> is no part of a platform", name));
    if (depth > kMostNesting) refuse(line, fmt::format("zones are nested more than {} deep", kMostNesting));
    if (name == "trace") return remember(node, line);
    if (name == "trace_connect") return connect(node, line);
    if (name == "config") return settings(node, line);
    check(node, line);
    write(node, line, depth);
  }

  void write(const pugi::xml_node& node, int line, int depth) {
    for (; lines_ < line; ++lines_) out_ += '\n';
    out_ += fmt::format("<{}", node.name());
    for (const pugi::xml_attribute& each : node.attributes())
      if (!take_profile(node, each, line))
        out_ += fmt::format(" {}=\"{}\"", each.name(), escaped(each.value()));
    out_ += '>';
    for (const pugi::xml_node& child : node.children())
      if (child.type() == pugi::node_element) element(child, depth + 1);
    out_ += fmt::format("</{}>", node.name());
  }
  static std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
      if (c == '&' || c == '<' || c == '>' || c == '"')
        out += fmt::format("&{};", c == '&' ? "amp" : c == '<' ? "lt" : c == '>' ? "gt" : "quot");
      else
        out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
    return out;
  }

  void check(const pugi::xml_node& node, int line) {
    const std::string_view name = node.name();
    if (std::string_view(node.attribute("sharing_policy").value()) == "WIFI")
      refuse(line, of(node) + " is wireless, and only wired links are simulated");
    std::string routing = node.attribute("routing").value();
    std::ranges::transform(routing, routing.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (routing == "wifi") refuse(line, of(node) + " is wireless, and only wired links are simulated");
    if (const auto amounts = kAmounts.find(name); amounts != kAmounts.end())
      for (const std::string& key : amounts->second) check_amount(node, key, line);
    if (name == "host" || name == "peer") ++hosts_;
    if (name == "cluster" || name == "cabinet") hosts_ += count(node, line);
    if (name == "platform" && node.attribute("version").as_double() < kOldestVersion)
      refuse(line,
             fmt::format("version {} is of an older SimGrid: `simgrid_update_xml {}` brings it up to date",
                         node.attribute("version").as_string("none"), network_.platform));
    if (name == "platform" && node.parent().type() != pugi::node_document)
      refuse(line, "<platform> is inside another");
  }

  // SimGrid parses the unit. Speeds and bandwidths may be lists.
  void check_amount(const pugi::xml_node& node, const std::string& key, int line) const {
    const char* const value = node.attribute(key.c_str()).value();
    for (const char* at = value; *at != 0;) {
      if (!at_least_zero(at, &at))
        refuse(line, fmt::format("{} = \"{}\" of {} is not a number of at least 0 with its unit", key, value,
                                 of(node)));
      while (*at != 0 && *at++ != ',') {
      }
    }
  }

  // The number of values in "0-3,7,9-12".
  double count(const pugi::xml_node& node, int line) const {
    const std::string radical = node.attribute("radical").value();
    double all = 0;
    const auto wrong = [&] {
      refuse(line, fmt::format("radical = \"{}\" of {} is not a list such as 0-3,7", radical.substr(0, 100),
                               of(node)));
    };
    const auto number = [&](const std::string& word) {
      char* end = nullptr;
      const long value = std::strtol(word.c_str(), &end, 10);
      if (word.empty() || std::isdigit(static_cast<unsigned char>(word[0])) == 0 || *end != 0 ||
          value > 2'000'000'000)
        wrong();
      return static_cast<double>(value);
    };
    for (std::size_t from = 0; from <= radical.size();) {
      const std::size_t to = std::min(radical.find(',', from), radical.size());
      const std::string group = radical.substr(from, to - from);
      const std::size_t dash = std::min(group.find('-'), group.size());
      const double first = number(group.substr(0, dash));
      const double last = dash == group.size() ? first : number(group.substr(dash + 1));
      all += std::max(0.0, last - first + 1);
      from = to + 1;
    }
    return all;
  }

  void settings(const pugi::xml_node& node, int line) {
    std::string kept;
    for (const pugi::xml_node& each : node.children("prop")) {
      const std::string key = each.attribute("id").value(), value = each.attribute("value").value();
      const int at = line_at(each.offset_debug());
      if (key == "network/model" || key == "network/crosstraffic") {
        same_as_run(key, value, at);
        continue;
      }
      const char* rest = value.c_str();
      if (!kSettings.contains(key))
        refuse(at, fmt::format("<config> sets \"{}\": of SimGrid's settings a platform may have {}", key,
                               fmt::join(kSettings, ", ")));
      if (!at_least_zero(rest, &rest) || *rest != 0)
        refuse(at, fmt::format("{} = \"{}\" is not a number of at least 0", key, value));
      kept += fmt::format("<prop id=\"{}\" value=\"{}\"/>", key, value);
    }
    if (kept.empty()) return;
    for (; lines_ < line; ++lines_) out_ += '\n';
    out_ += "<config>" + kept + "</config>";
  }

  // The run's own configuration also sets these, and takes precedence.
  void same_as_run(const std::string& key, const std::string& value, int line) const {
    const bool model = key == "network/model";
    const bool yes = value == "yes" || value == "on" || value == "true" || value == "1";
    const bool same = model ? value == (network_.lv08 ? "LV08" : "CM02") : yes == network_.crosstraffic;
    if (same) return;
    const std::string key_of_run = model ? "network.model" : "network.crosstraffic";
    refuse(line,
           fmt::format("<config> sets {} to \"{}\" and this run does not: give {}{}, or remove the line", key,
                       value, key_of_run,
                       model ? " (LV08 or CM02)"
                       : yes ? " = true"
                             : " = false"));
  }

  // An attribute that names a profile file.
  bool take_profile(const pugi::xml_node& node, const pugi::xml_attribute& attribute, int line) {
    const std::string_view name = attribute.name(), element = node.name();
    const bool host = element == "host" || element == "peer";
    if ((!host && element != "link") || !name.ends_with("_file")) return false;
    if (*attribute.value() == 0) return true;
    SimProfile profile;
    if (name == "state_file")
      profile.of = host ? SimProfile::Of::host_state : SimProfile::Of::link_state;
    else if (host && (name == "speed_file" || name == "availability_file"))
      profile.of = SimProfile::Of::speed;
    else if (!host && name == "bandwidth_file")
      profile.of = SimProfile::Of::bandwidth;
    else if (!host && name == "latency_file")
      profile.of = SimProfile::Of::latency;
    else
      refuse(line, fmt::format("{} of {} is no profile", name, of(node)));
    profile.element = node.attribute("id").value();
    profile.line = line;
    add(std::move(profile), profile_text(attribute.value(), line), 0,
        fmt::format("{} \"{}\"", name, attribute.value()));
    return true;
  }

  std::string profile_text(const std::string& file, int line) const {
    const std::filesystem::path beside = std::filesystem::path(network_.platform).parent_path() / file;
    std::error_code ignored;
    return read_text(std::filesystem::exists(beside, ignored) ? beside : std::filesystem::path(file),
                     fmt::format("{} cannot be simulated: line {}: the profile \"{}\"", what_, line, file),
                     kMostBytes);
  }

  void add(SimProfile profile, const std::string& text, double period, const std::string& which) {
    try {
      read_profile(text, period, profile);
    } catch (const RequestError& error) {
      refuse(profile.line, fmt::format("{}: {}", which, error.what()));
    }
    profiles_.push_back(std::move(profile));
  }

  struct Trace {
    std::string text;
    double period = 0;
  };
  void remember(const pugi::xml_node& node, int line) {
    Trace trace;
    const std::string file = node.attribute("file").value(), period = node.attribute("periodicity").value();
    char* end = nullptr;
    trace.period = std::strtod(period.c_str(), &end);
    if (period.empty() || *end != 0 || !std::isfinite(trace.period))
      refuse(line, fmt::format("periodicity = \"{}\" of {} is not a number of seconds", period, of(node)));
    trace.text = file.empty() ? node.child_value() : profile_text(file, line);
    traces_[node.attribute("id").value()] = std::move(trace);
  }
  void connect(const pugi::xml_node& node, int line) {
    const std::string kind = node.attribute("kind").as_string("HOST_AVAIL");
    const auto known = kKinds.find(kind);
    const auto trace = traces_.find(node.attribute("trace").value());
    if (known == kKinds.end()) refuse(line, fmt::format("there is no kind \"{}\" of traces", kind));
    if (trace == traces_.end())
      refuse(line, fmt::format("there is no <trace id=\"{}\"> before it", node.attribute("trace").value()));
    SimProfile profile;
    profile.of = known->second;
    profile.element = node.attribute("element").value();
    profile.line = line;
    add(std::move(profile), trace->second.text, trace->second.period,
        fmt::format("trace \"{}\"", trace->first));
  }

  const SimNetwork& network_;
  const std::string what_;
  const std::string text_;
  std::vector<std::size_t> ends_;  // ends of lines
  std::string out_;
  int lines_ = 1;  // in `out_`
  double hosts_ = 0;
  std::map<std::string, Trace> traces_;
  std::vector<SimProfile> profiles_;
};

}  // namespace

SimPlatform read_platform(const SimNetwork& network) { return Reader(network).read(); }

}  // namespace veche
