#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace veche {

// The interface of the module veche_curl: network and digests.
struct Transfer {
  enum class Outcome { done, no_network, cut_off, refused };
  Outcome outcome = Outcome::done;
  std::string why;
};
using TransferProgress = std::function<void(std::uint64_t done, std::uint64_t all)>;

// Appends the missing rest of the file at `url` to `to`. Starts over if the server cannot resume.
extern "C" void veche_download(const std::string& url, const std::filesystem::path& to,
                               const TransferProgress& progress, Transfer& result);
extern "C" void veche_md5_of_file(const std::filesystem::path& file, std::string& result);

}  // namespace veche
