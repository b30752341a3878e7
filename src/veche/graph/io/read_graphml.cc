#include <fmt/format.h>

#include <charconv>
#include <pugixml.hpp>

#include "veche/errors.h"
#include "veche/graph/io/graph_file.h"
#include "veche/graph/io/named_nodes.h"

namespace veche {
namespace {

std::string needed(const pugi::xml_node& node, const char* name) {
  const pugi::xml_attribute attribute = node.attribute(name);
  if (!attribute) throw RequestError(fmt::format("a <{}> has no '{}'", node.name(), name));
  return attribute.value();
}

pugi::xml_node data_of(const pugi::xml_node& node, const std::string& key) {
  return node.find_child_by_attribute("data", "key", key.c_str());
}

std::optional<double> weight_of(const pugi::xml_node& edge, const std::string& key) {
  const pugi::xml_node data = data_of(edge, key);
  if (!data) return std::nullopt;
  const std::string_view text = data.text().as_string();
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw RequestError(fmt::format("the weight '{}' is not a number", text));
  }
  return value;
}

}  // namespace

// The id of the key with this name, for nodes or for edges.
std::string key_id(const pugi::xml_node& root, std::string_view name, std::string_view what) {
  for (const pugi::xml_node& key : root.children("key")) {
    const std::string_view meant = key.attribute("for").value();
    if (std::string_view(key.attribute("attr.name").value()) == name &&
        (meant == what || meant == "all" || meant.empty()))
      return needed(key, "id");
  }
  return std::string(name);
}

// Reads the node attribute "label" and the edge attribute "weight"; other data are ignored.
std::vector<StoredGraph> read_graphml(const std::string& text) {
  pugi::xml_document document;
  const pugi::xml_parse_result parsed = document.load_string(text.c_str());
  if (!parsed)
    throw RequestError(fmt::format("it is not XML (byte {}: {})", parsed.offset, parsed.description()));
  const pugi::xml_node root = document.child("graphml");
  const pugi::xml_node graph = root.child("graph");
  if (!graph) throw RequestError("it has no <graphml> with a <graph> in it");

  const std::string weight_key = key_id(root, "weight", "edge"), label_key = key_id(root, "label", "node");
  NamedNodes nodes;
  for (const pugi::xml_node& node : graph.children("node"))
    nodes.label(needed(node, "id"), data_of(node, label_key).text().as_string());
  for (const pugi::xml_node& edge : graph.children("edge")) {
    nodes.link(needed(edge, "source"), needed(edge, "target"), weight_of(edge, weight_key));
  }
  return {nodes.finish(std::string_view(graph.attribute("edgedefault").value()) == "directed")};
}

}  // namespace veche
