#include "web/watch/places.h"

#include <algorithm>

namespace veche::web {
namespace {

std::string text_of(const nlohmann::json& node, const char* key) {
  if (!node.is_object()) return {};
  const auto found = node.find(key);
  return found != node.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

std::vector<std::size_t> Places::of(const nlohmann::json& nodes) {
  std::vector<std::size_t> places;
  std::map<std::string, int> seen;
  for (const auto& node : nodes) {
    const std::string id = text_of(node, "member");
    if (id.empty()) {
      places.push_back(places.size());
      count_ = std::max(count_, places.size());
      continue;
    }
    const int which = seen[id]++;
    const auto [place, is_new] = of_member_.try_emplace({id, which}, owners_.size());
    if (is_new) owners_.push_back({id, text_of(node, "name"), which});
    places.push_back(place->second);
    count_ = std::max(count_, owners_.size());
  }
  return places;
}

std::vector<std::string> Places::names() const {
  std::vector<std::string> names;
  for (const Owner& owner : owners_) {
    const auto is_namesake = [&](const Owner& other) {
      return other.name == owner.name && other.id != owner.id;
    };
    std::string name = owner.name.empty() ? owner.id : owner.name;
    if (std::ranges::any_of(owners_, is_namesake)) name += "-" + owner.id.substr(0, 4);
    const bool has_several = of_member_.contains({owner.id, 1});
    names.push_back(has_several ? name + " " + std::to_string(owner.node) : name);
  }
  return names;
}

}  // namespace veche::web
