#include "veche/random.h"

#include <cmath>
#include <numbers>

namespace veche {
namespace {

std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ULL;

}  // namespace

RandomStream::RandomStream(std::uint64_t seed, std::string_view purpose, std::uint64_t a, std::uint64_t b)
    : state_(mixed(seed + kGolden)) {
  for (const char c : purpose) state_ = mixed(state_ ^ static_cast<unsigned char>(c)) + kGolden;
  state_ = mixed(state_ ^ mixed(a + kGolden)) + kGolden;
  state_ = mixed(state_ ^ mixed(b + 2 * kGolden));
}

std::uint64_t RandomStream::next() { return mixed(state_ += kGolden); }

double RandomStream::uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

std::uint64_t RandomStream::below(std::uint64_t limit) {
  // Rejection sampling: numbers in the incomplete last interval would favour small results.
  const std::uint64_t rest = -limit % limit;
  std::uint64_t x = next();
  while (x < rest) x = next();
  return x % limit;
}

double RandomStream::normal() {
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

}  // namespace veche
