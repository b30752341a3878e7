#include "veche/runtime/record/event_file.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <chrono>
#include <cstring>
#include <utility>

namespace veche {
namespace {

// CRC-32C, which the frame format needs and zlib does not have.
std::uint32_t crc32c(std::string_view bytes) {
  static const auto table = [] {
    std::array<std::uint32_t, 256> entries{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t c = i;
      for (int bit = 0; bit < 8; ++bit) c = (c >> 1) ^ ((c & 1) != 0 ? 0x82f63b78U : 0U);
      entries[i] = c;
    }
    return entries;
  }();
  std::uint32_t crc = ~0U;
  for (const char c : bytes) crc = table[(crc ^ static_cast<unsigned char>(c)) & 0xff] ^ (crc >> 8);
  return ~crc;
}

std::uint32_t masked(std::uint32_t crc) { return std::rotr(crc, 15) + 0xa282ead8U; }

template <class T>
std::string raw(T value) {  // little-endian, as on every machine this runs on
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>((value & 0x7f) | 0x80);
  return bytes + static_cast<char>(value);
}

enum class WireType : unsigned char { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

std::string field(unsigned number, WireType wire, std::string_view content) {
  std::string bytes(1, static_cast<char>(number << 3 | static_cast<unsigned>(wire)));
  if (wire == WireType::bytes) bytes += varint(content.size());
  return bytes.append(content);
}

double wall_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Event: wall_time = 1, step = 2, file_version = 3, summary = 5, session_log = 7.
std::string event(std::uint64_t step, unsigned what, std::string_view content) {
  return field(1, WireType::fixed64, raw(wall_time())) + field(2, WireType::varint, varint(step)) +
         field(what, WireType::bytes, content);
}

// Takes a later second where a run that was killed at once has the name.
std::filesystem::path new_name(const std::filesystem::path& folder, std::uint64_t from_step) {
  for (double time = wall_time();; ++time) {
    auto name = folder / fmt::format("events.out.tfevents.{:.0f}.veche.{}", time, from_step);
    if (!std::filesystem::exists(name)) return name;
  }
}

}  // namespace

EventFile::EventFile(const std::filesystem::path& folder, std::uint64_t from_step)
    : file_(new_name(folder, from_step)) {
  record(event(0, 3, "brain.Event:2"));
  const std::string started = field(1, WireType::varint, varint(1));  // SessionLog.status = START
  if (from_step > 0) record(event(from_step + 1, 7, started));
  flush();
}

void EventFile::flush() {
  if (!records_.empty()) file_.append(std::exchange(records_, {}));
}

void EventFile::scalar(std::string_view name, std::uint64_t step, double value) {
  // Summary.Value: tag = 1, simple_value = 2.
  const std::string entry =
      field(1, WireType::bytes, name) + field(2, WireType::fixed32, raw(static_cast<float>(value)));
  record(event(step, 5, field(1, WireType::bytes, entry)));
}

void EventFile::record(std::string_view event) {
  const std::string length = raw(static_cast<std::uint64_t>(event.size()));
  records_.append(length).append(raw(masked(crc32c(length))));
  records_.append(event).append(raw(masked(crc32c(event))));
}

}  // namespace veche
