#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace veche {

// One file of a public set, with its publisher's MD5.
struct PublicFile {
  std::string name;
  std::string md5;
};
struct PublicSet {
  std::string name;
  std::string address;  // base address of the files
  std::vector<PublicFile> files;
};
const std::vector<PublicSet>& public_sets();

struct FetchOptions {
  std::filesystem::path folder = "data";  // the set is stored in FOLDER/NAME
  std::string address;                    // a mirror instead of the publisher's address
  std::map<std::string, std::string>
      md5;  // by file name, instead of the publisher's; for mirrors that pack differently
  std::function<void(const std::string& sentence)> tell = [](const std::string&) {};
  // May throw to stop; the partial download is kept for the next attempt.
  std::function<void(std::uint64_t done, std::uint64_t all)> progress = [](std::uint64_t, std::uint64_t) {};
};

// Downloads a set, resuming an interrupted download, then verifies and unpacks it. Files that exist
// and are correct are not downloaded again. Returns the set's folder. Throws RequestError for an
// unknown name, and RunError with advice if the network, the address or a checksum fails.
std::filesystem::path fetch(const std::string& name, const FetchOptions& options);

}  // namespace veche
