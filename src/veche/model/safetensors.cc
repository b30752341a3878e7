#include "veche/model/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>

#include "veche/errors.h"

namespace veche {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "the format's order of bytes is this machine's");

constexpr std::uint64_t kMostHeader = 100'000'000;  // limit of the format
constexpr int kDeepest = 3;                         // the shape of a tensor in the header
constexpr std::size_t kLongestShownName = 100;      // in a message
constexpr char kMetadata[] = "__metadata__";

constexpr std::array<std::pair<std::string_view, std::uint64_t>, 15> kTypes = {{
    {"F64", 8},
    {"F32", 4},
    {"F16", 2},
    {"BF16", 2},
    {"I64", 8},
    {"I32", 4},
    {"I16", 2},
    {"I8", 1},
    {"U64", 8},
    {"U32", 4},
    {"U16", 2},
    {"U8", 1},
    {"BOOL", 1},
    {"F8_E4M3", 1},
    {"F8_E5M2", 1},
}};

// Makes an untrusted name printable: short and on one line.
std::string shown(std::string name) {
  if (name.size() > kLongestShownName) name = name.substr(0, kLongestShownName) + "..";
  std::ranges::replace_if(
      name, [](char c) { return static_cast<unsigned char>(c) < ' '; }, '?');
  return "'" + name + "'";
}

class SafetensorsReader {
 public:
  SafetensorsReader(std::span<const std::byte> file, const std::string& origin)
      : file_(file), origin_(origin) {}

  Safetensors read() {
    const json header = read_header();
    Safetensors result;
    for (const auto& [name, about] : header.items()) {
      if (name == kMetadata)
        result.metadata = metadata(about);
      else
        result.tensors.push_back(tensor(name, about));
    }
    check_that_all_is_used(result.tensors);
    return result;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw RequestError("'" + origin_ + "' is not a whole safetensors file: " + why);
  }

  json read_header() {
    std::uint64_t length = 0;
    if (file_.size() < sizeof length) refuse("it has only " + std::to_string(file_.size()) + " bytes");
    std::memcpy(&length, file_.data(), sizeof length);
    const std::uint64_t rest = file_.size() - sizeof length;
    if (length > kMostHeader || length > rest)
      refuse("its header should have " + std::to_string(length) + " bytes, but " +
             (length > rest ? std::to_string(rest) + " follow" : "100 million are the most allowed"));
    const char* text = reinterpret_cast<const char*>(file_.data()) + sizeof length;
    data_ = file_.subspan(sizeof length + length);
    if (length == 0 || *text != '{') refuse("its header does not begin with '{'");
    try {
      return json::parse(text, text + length, [this](int depth, json::parse_event_t event, const json& item) {
        return watch(depth, event, item);
      });
    } catch (const json::parse_error& error) {
      refuse("its header is not JSON from byte " + std::to_string(error.byte) + " on");
    } catch (const json::out_of_range&) {
      refuse("its header holds a number that is too large");
    }
  }

  // Rejects duplicate names and deep nesting, which the parser would accept.
  bool watch(int depth, json::parse_event_t event, const json& item) {
    if (depth > kDeepest) refuse("its header is nested too deep");
    if (event == json::parse_event_t::object_start) names_[static_cast<std::size_t>(depth)].clear();
    if (event == json::parse_event_t::key &&
        !names_[static_cast<std::size_t>(depth - 1)].insert(item.get<std::string>()).second)
      refuse("its header names " + shown(item.get<std::string>()) + " twice");
    return true;
  }

  std::map<std::string, std::string> metadata(const json& about) const {
    if (!about.is_object()) refuse("its __metadata__ is not an object");
    std::map<std::string, std::string> result;
    for (const auto& [key, value] : about.items()) {
      if (!value.is_string()) refuse("its __metadata__ has something that is not text under " + shown(key));
      result[key] = value.get<std::string>();
    }
    return result;
  }

  // A list of `count` unsigned integers, or of any length.
  std::optional<std::vector<std::uint64_t>> wholes(const json& about, const char* key,
                                                   std::optional<std::size_t> count = {}) const {
    const auto found = about.find(key);
    if (found == about.end() || !found->is_array() || (count && found->size() != *count)) return {};
    std::vector<std::uint64_t> numbers;
    for (const json& item : *found) {
      if (!item.is_number_unsigned() || item.get<std::uint64_t>() > INT64_MAX) return {};
      numbers.push_back(item.get<std::uint64_t>());
    }
    return numbers;
  }

  StoredTensor tensor(const std::string& name, const json& about) const {
    if (!about.is_object()) refuse("its tensor " + shown(name) + " is not described by an object");
    const auto shape = wholes(about, "shape");
    if (!shape) refuse("its tensor " + shown(name) + " has no shape of whole numbers");
    const auto offsets = wholes(about, "data_offsets", 2);
    if (!offsets) refuse("its tensor " + shown(name) + " has no two data_offsets");
    const std::uint64_t from = offsets->front(), to = offsets->back();
    if (from > to || to > data_.size())
      refuse("its tensor " + shown(name) + " lies at bytes " + std::to_string(from) + " to " +
             std::to_string(to) + " of " + std::to_string(data_.size()));
    StoredTensor result;
    result.name = name;
    result.type = type_of(name, about);
    result.shape.assign(shape->begin(), shape->end());
    if (bytes_of(*shape, result.type) != to - from)
      refuse("its tensor " + shown(name) + " has " + std::to_string(to - from) +
             " bytes, which is not what its shape and type need");
    result.bytes = data_.subspan(from, to - from);
    return result;
  }

  std::string type_of(const std::string& name, const json& about) const {
    const auto found = about.find("dtype");
    if (found == about.end() || !found->is_string()) refuse("its tensor " + shown(name) + " has no dtype");
    const auto type = found->get<std::string>();
    if (std::ranges::none_of(kTypes, [&](const auto& known) { return known.first == type; }))
      refuse("its tensor " + shown(name) + " has the unknown dtype " + shown(type));
    return type;
  }

  // nullopt on overflow.
  static std::optional<std::uint64_t> bytes_of(const std::vector<std::uint64_t>& shape,
                                               std::string_view type) {
    if (std::ranges::find(shape, 0U) != shape.end()) return 0;
    std::uint64_t bytes = std::ranges::find(kTypes, type, [](const auto& t) { return t.first; })->second;
    for (const std::uint64_t extent : shape)
      if (__builtin_mul_overflow(bytes, extent, &bytes)) return {};
    return bytes;
  }

  void check_that_all_is_used(std::vector<StoredTensor> tensors) const {
    std::ranges::sort(tensors, [](const StoredTensor& a, const StoredTensor& b) {
      return std::pair(a.bytes.data(), a.bytes.size()) < std::pair(b.bytes.data(), b.bytes.size());
    });
    const std::byte* end = data_.data();
    for (const StoredTensor& tensor : tensors) {
      if (tensor.bytes.data() != end)
        refuse("its tensor " + shown(tensor.name) + " does not begin where the one before it ends");
      end += tensor.bytes.size();
    }
    if (end != data_.data() + data_.size())
      refuse(std::to_string(data_.data() + data_.size() - end) + " bytes at its end belong to no tensor");
  }

  const std::span<const std::byte> file_;
  const std::string& origin_;
  std::span<const std::byte> data_;                        // after the header
  std::array<std::set<std::string>, kDeepest + 1> names_;  // names seen in the object at each depth
};

float from_half(std::uint16_t half) {
  const int exponent = half >> 10 & 31;
  const int fraction = half & 1023;
  const std::uint32_t sign = static_cast<std::uint32_t>(half >> 15) << 31;
  if (exponent == 0) {  // zero and subnormal numbers
    const float size = static_cast<float>(fraction) * 0x1p-24F;
    return sign != 0 ? -size : size;
  }
  const std::uint32_t wide = exponent == 31 ? 255 : static_cast<std::uint32_t>(exponent + 127 - 15);
  return std::bit_cast<float>(sign | wide << 23 | static_cast<std::uint32_t>(fraction) << 13);
}

template <class Stored, class Convert>
std::vector<float> converted(std::span<const std::byte> bytes, Convert convert) {
  std::vector<float> numbers(bytes.size() / sizeof(Stored));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    Stored stored;
    std::memcpy(&stored, bytes.data() + i * sizeof stored, sizeof stored);
    numbers[i] = convert(stored);
  }
  return numbers;
}

}  // namespace

Safetensors parse_safetensors(std::span<const std::byte> file, const std::string& origin) {
  return SafetensorsReader(file, origin).read();
}

std::vector<float> floats_of(const StoredTensor& tensor, const std::string& origin) {
  if (tensor.type == "F32") return converted<float>(tensor.bytes, [](float x) { return x; });
  if (tensor.type == "F64")
    return converted<double>(tensor.bytes, [](double x) { return static_cast<float>(x); });
  if (tensor.type == "F16") return converted<std::uint16_t>(tensor.bytes, from_half);
  if (tensor.type == "BF16")
    return converted<std::uint16_t>(tensor.bytes,
                                    [](std::uint32_t x) { return std::bit_cast<float>(x << 16); });
  throw RequestError("'" + origin + "': the tensor " + shown(tensor.name) + " is of type " + tensor.type +
                     ", and a model takes F32, F64, F16 or BF16");
}

void SafetensorsWriter::add(const std::string& name, std::vector<std::int64_t> shape,
                            std::vector<float> numbers) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  if (count != static_cast<std::int64_t>(numbers.size()) || name == kMetadata)
    throw std::invalid_argument("'" + name + "' has another size than its shape");
  if (!tensors_.emplace(name, Tensor{std::move(shape), std::move(numbers)}).second)
    throw std::invalid_argument("'" + name + "' is added twice");
}

std::vector<std::span<const std::byte>> SafetensorsWriter::parts() {
  json header = json::object();
  if (!metadata_.empty()) header[kMetadata] = metadata_;
  std::uint64_t offset = 0;
  for (const auto& [name, tensor] : tensors_) {
    const std::uint64_t end = offset + tensor.numbers.size() * sizeof(float);
    header[name] = {{"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // aligns the data for use in place
  const std::uint64_t length = text.size();
  head_ = std::string(reinterpret_cast<const char*>(&length), sizeof length) + text;

  std::vector<std::span<const std::byte>> parts{std::as_bytes(std::span(head_))};
  for (const auto& [name, tensor] : tensors_) parts.push_back(std::as_bytes(std::span(tensor.numbers)));
  return parts;
}

}  // namespace veche
