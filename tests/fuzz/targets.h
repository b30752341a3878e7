#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace veche::fuzz {

// Every parser of untrusted files and codes, fed with arbitrary bytes. A target returns after any
// permitted outcome: the bytes are accepted, or refused with one of our errors. Anything else ends
// the process, which is the finding.
struct Target {
  const char* name;
  void (*run)(std::span<const std::uint8_t> bytes);
};

void cifar(std::span<const std::uint8_t> bytes);
void code(std::span<const std::uint8_t> bytes);  // codes from peers, under every codec
void gml(std::span<const std::uint8_t> bytes);
void graphml(std::span<const std::uint8_t> bytes);
void grid_frame(std::span<const std::uint8_t> bytes);  // frames between members of a grid
void idx(std::span<const std::uint8_t> bytes);
void image(std::span<const std::uint8_t> bytes);  // JPEG and PNG
void invitation(std::span<const std::uint8_t> bytes);
void membership(std::span<const std::uint8_t> bytes);  // messages and stored state of members
void npy(std::span<const std::uint8_t> bytes);
void packed(std::span<const std::uint8_t> bytes);
void safetensors(std::span<const std::uint8_t> bytes);
void table(std::span<const std::uint8_t> bytes);  // a CSV file, and expressions on its rows
void tar(std::span<const std::uint8_t> bytes);

constexpr Target kTargets[] = {{"cifar", cifar},
                               {"code", code},
                               {"gml", gml},
                               {"graphml", graphml},
                               {"idx", idx},
                               {"jpeg", image},
                               {"membership", membership},
                               {"npy", npy},
                               {"packed", packed},
                               {"png", image},
                               {"safetensors", safetensors},
                               {"table", table},
                               {"tar", tar}};
// If the grid module is built.
constexpr Target kGridTargets[] = {{"grid_frame", grid_frame}, {"invitation", invitation}};

}  // namespace veche::fuzz
