#include "veche/train/views/roles.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "veche/base/text/utf8.h"

namespace veche {
namespace {

class Assignment {
 public:
  Assignment(std::span<const HeldStage> held, int stages)
      : held_(held), stages_(static_cast<std::size_t>(stages)), taken_(held.size()) {
    for (const HeldStage& one : held_) {
      furthest_ = std::max(furthest_, one.step);
      anybody_ = anybody_ || one.has_state != 0;
    }
  }

  Roles roles() {
    Roles roles{.stages = static_cast<int>(stages_), .nodes = {}, .missing = missing(), .first_step = 0};
    if (roles.missing.empty()) fill();
    for (const auto& replica : replicas_)
      for (const std::size_t node : replica) roles.nodes.push_back(NodeId{static_cast<int>(node)});
    for (std::size_t i = 0; i < roles.nodes.size(); ++i)
      if (const HeldStage& one = held_[static_cast<std::size_t>(roles.nodes[i].value)];
          one.stage == static_cast<int>(i % stages_))
        roles.first_step = std::max(roles.first_step, one.step);
    if (roles.nodes.empty()) roles.first_step = furthest_;
    return roles;
  }

 private:
  using Replica = std::vector<std::size_t>;  // node by stage; kNobody
  static constexpr std::size_t kNobody = SIZE_MAX;

  bool begins() const { return furthest_ == 0 && anybody_; }

  std::vector<int> missing() const {
    std::vector<int> all;
    for (int stage = 0; stage < static_cast<int>(stages_) && !begins(); ++stage)
      if (std::ranges::none_of(held_, [&](const HeldStage& one) { return one.stage == stage; }))
        all.push_back(stage);
    return all;
  }

  void take(Replica& replica, std::size_t stage, std::size_t node) {
    replica[stage] = node;
    taken_[node] = true;
  }

  void keep_whole_replicas() {
    std::map<std::uint64_t, Replica> units;
    for (std::size_t node = 0; node < held_.size(); ++node) {
      const HeldStage& one = held_[node];
      if (one.unit == 0 || one.stage < 0) continue;
      Replica& unit = units.try_emplace(one.unit, stages_, kNobody).first->second;
      unit[static_cast<std::size_t>(one.stage)] = node;
    }
    for (const auto& [unit, replica] : units) {
      if (std::ranges::find(replica, kNobody) != replica.end()) continue;
      replicas_.push_back(replica);
      for (const std::size_t node : replica) taken_[node] = true;
    }
  }

  // A node with this stage and without a role yet; kNobody: none.
  std::size_t furthest_with(int stage) const {
    std::size_t best = kNobody;
    for (std::size_t node = 0; node < held_.size(); ++node)
      if (!taken_[node] && held_[node].stage == stage &&
          (best == kNobody || held_[node].step > held_[best].step))
        best = node;
    return best;
  }
  std::size_t next_free() const {
    for (const bool with_stage : {false, true})
      for (std::size_t node = 0; node < held_.size(); ++node)
        if (!taken_[node] && (begins() || with_stage == (held_[node].stage >= 0))) return node;
    return kNobody;
  }

  void fill() {
    keep_whole_replicas();
    const std::size_t whole = replicas_.size();
    while (replicas_.size() < held_.size() / stages_) replicas_.emplace_back(stages_, kNobody);
    for (std::size_t r = whole; r < replicas_.size() && !begins(); ++r)
      for (std::size_t stage = 0; stage < stages_; ++stage)
        if (const std::size_t node = furthest_with(static_cast<int>(stage)); node != kNobody)
          take(replicas_[r], stage, node);
    for (std::size_t r = whole; r < replicas_.size(); ++r)
      for (std::size_t stage = 0; stage < stages_; ++stage)
        if (replicas_[r][stage] == kNobody) take(replicas_[r], stage, next_free());
  }

  const std::span<const HeldStage> held_;
  const std::size_t stages_;
  std::vector<bool> taken_;
  std::vector<Replica> replicas_;
  std::uint64_t furthest_ = 0;
  bool anybody_ = false;  // has a state
};

const HeldStage* find_member(std::span<const HeldStage> held, std::uint64_t member) {
  const auto found = std::ranges::find(held, member, &HeldStage::member);
  return found == held.end() ? nullptr : &*found;
}

}  // namespace

// It comes from another machine and goes to a terminal.
std::string HeldStage::called() const {
  constexpr unsigned char kFirstPrinted = 0x20, kDelete = 0x7F;
  std::string_view given(name.data(), std::ranges::find(name, '\0') - name.begin());
  std::string text;
  while (!given.empty()) {
    const std::size_t length = utf8_length(given);
    const auto sign = static_cast<unsigned char>(given.front());
    const bool printed = length > 1 || (length == 1 && sign >= kFirstPrinted && sign != kDelete);
    text += printed ? given.substr(0, length) : "?";
    given.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return text;
}

int Roles::place_of(NodeId node) const {
  const auto found = std::ranges::find(nodes, node);
  return found == nodes.end() ? -1 : static_cast<int>(found - nodes.begin());
}

Roles assign_roles(std::span<const HeldStage> held, int stages) { return Assignment(held, stages).roles(); }

std::string told_of_roles(std::span<const PreviousRole> before, std::span<const HeldStage> held,
                          const Roles& roles) {
  std::vector<std::string> told;
  std::map<int, std::vector<const PreviousRole*>> lost;  // by replica
  for (const PreviousRole& one : before)
    if (find_member(held, one.member) == nullptr) lost[one.replica].push_back(&one);
  for (const auto& [replica, stages] : lost) {
    std::vector<std::string> which;
    for (const PreviousRole* one : stages)
      which.push_back(fmt::format("stage {} with {}", one->stage, one->name));
    const bool goes_on = std::ranges::any_of(before, [&](const PreviousRole& one) {
      const HeldStage* still = one.replica == replica ? find_member(held, one.member) : nullptr;
      return still != nullptr && roles.place_of(NodeId{static_cast<int>(still - held.data())}) >= 0;
    });
    told.push_back(fmt::format("replica {} has lost {}{}", replica, fmt::join(which, ", "),
                               goes_on ? "" : " and is suspended"));
  }
  for (std::size_t i = 0; i < roles.nodes.size() && roles.first_step > 0; ++i) {
    const HeldStage& one = held[static_cast<std::size_t>(roles.nodes[i].value)];
    const int stage = static_cast<int>(i) % roles.stages, replica = static_cast<int>(i) / roles.stages;
    if (one.stage != stage)
      told.push_back(fmt::format("{} takes stage {} of replica {}", one.called(), stage, replica));
  }
  if (!roles.missing.empty())
    told.push_back(fmt::format("no member here has stage {}: all wait until a member that had it returns",
                               fmt::join(roles.missing, ", ")));
  else if (roles.nodes.empty())
    told.push_back(
        fmt::format("no replica is complete: {} of {} stages have a member, and all wait for others",
                    held.size(), roles.stages));
  return fmt::format("{}", fmt::join(told, "; "));
}

}  // namespace veche
