#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace veche {

// One file of a public set, with the MD5 its publisher gives.
struct PublicFile {
  std::string name;
  std::string md5;
};
struct PublicSet {
  std::string name;
  std::string address;  // of the folder that the files lie in
  std::vector<PublicFile> files;
};
const std::vector<PublicSet>& public_sets();

struct FetchOptions {
  std::filesystem::path folder = "data";  // the set comes into FOLDER/NAME
  std::string address;                    // instead of the publisher's: a mirror
  std::map<std::string, std::string>
      md5;  // by file name, instead of the publisher's: a mirror that packs differently
  std::function<void(const std::string& sentence)> tell = [](const std::string&) {};
  // May throw to stop; what has arrived stays for the next time.
  std::function<void(std::uint64_t done, std::uint64_t all)> progress = [](std::uint64_t, std::uint64_t) {};
};

// Downloads a set, going on where an interrupted download stopped, checks it and unpacks it. A file that is
// there and right is not downloaded again. Returns the set's folder. Throws RequestError for a name that is
// not known, RunError when the network, the address or a checksum fails, with what to do.
std::filesystem::path fetch(const std::string& name, const FetchOptions& options);

}  // namespace veche
