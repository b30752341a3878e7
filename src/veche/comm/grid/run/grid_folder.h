#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "veche/comm/grid/identity/trust.h"

namespace veche::grid {

// A remembered member and its addresses. Only a certificate admits it.
struct Known {
  MemberId id;
  std::vector<std::string> addresses;
};

// The files of a member in the folder grid/ of its run, each written atomically and synced:
//   key.pem          its key, readable by its owner only
//   root.der, certificate.der, trust.bin   the run's certificate, its own, warrants and revocations
//   configuration.toml   from the founder
//   members.bin      members and their addresses
//   promised.bin     promises in the agreement on views
//   address          where this process listens, while it runs
// All functions throw RunError naming the file; a missing or damaged file is a RequestError.
class GridFolder {
 public:
  // Creates the folder if it is missing.
  explicit GridFolder(const std::filesystem::path& run);

  bool holds_a_member() const;
  KeyPair key() const;
  void write_key(const KeyPair& key) const;
  std::shared_ptr<Trust> trust() const;
  void write_trust(const Trust& trust) const;
  std::string certificate() const;
  void write_certificate(const std::string& der) const;
  std::string configuration() const;
  void write_configuration(const std::string& text) const;
  std::vector<Known> members() const;
  void write_members(const std::vector<Known>& members) const;
  std::string promised() const;  // empty: nothing
  void write_promised(const std::string& bytes) const;
  std::string address() const;
  void write_address(const std::string& address) const;
  void remove_address() const;

 private:
  std::string read(const char* name) const;
  void write(const char* name, const std::string& bytes, bool secret = false) const;
  bool has(const char* name) const;

  const std::filesystem::path folder_;
};

std::string coded(const std::vector<Known>& members);
std::vector<Known> read_members(std::string_view text);  // throws MalformedMessage
// Warrants and revocations as bytes, and back.
std::string coded_trust(const Trust& trust);
void learn_trust(Trust& trust, std::string_view text);  // throws MalformedMessage

}  // namespace veche::grid
