#include "veche/comm/grid/run/grid_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>

#include "veche/comm/grid/wire_encoding.h"
#include "veche/errors.h"

namespace veche::grid {
namespace {

constexpr std::size_t kMostMembers = 65536;
constexpr std::size_t kMostProofs = 65536;
constexpr std::size_t kLongestProof = 4096;

[[noreturn]] void cannot_write(const std::filesystem::path& file) {
  throw RunError(file.string() +
                 " cannot be written: " + std::error_code(errno, std::system_category()).message());
}

// Closed by the destructor.
struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
};

}  // namespace

GridFolder::GridFolder(const std::filesystem::path& run) : folder_(run / "grid") {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) throw RunError(folder_.string() + " cannot be made: " + error.message());
}

bool GridFolder::has(const char* name) const { return std::filesystem::exists(folder_ / name); }
bool GridFolder::holds_a_member() const {
  return has("key.pem") && has("certificate.der") && has("root.der");
}

std::string GridFolder::read(const char* name) const {
  std::ifstream file(folder_ / name, std::ios::binary);
  if (!file)
    throw RequestError((folder_ / name).string() + " cannot be read: this folder holds no member of a grid");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Like base/files/files.h, which is in the program that loads this module. A secret is protected
// from its first byte on.
void GridFolder::write(const char* name, const std::string& bytes, bool secret) const {
  const std::filesystem::path file = folder_ / name, unfinished = folder_ / (std::string(name) + ".new");
  {
    std::filesystem::remove(unfinished);
    const Descriptor to{
        open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, secret ? 0600 : 0644)};
    if (to.fd < 0) cannot_write(file);
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t count = ::write(to.fd, bytes.data() + done, bytes.size() - done);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) cannot_write(file);
      done += static_cast<std::size_t>(count);
    }
    if (fsync(to.fd) != 0) cannot_write(file);
  }
  if (rename(unfinished.c_str(), file.c_str()) != 0) cannot_write(file);
  const Descriptor folder{open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (folder.fd < 0 || fsync(folder.fd) != 0) cannot_write(file);
}

KeyPair GridFolder::key() const { return KeyPair::from_pem(read("key.pem")); }
void GridFolder::write_key(const KeyPair& key) const { write("key.pem", key.pem(), true); }

std::shared_ptr<Trust> GridFolder::trust() const {
  try {
    auto trust = std::make_shared<Trust>(read("root.der"));
    learn_trust(*trust, read("trust.bin"));
    return trust;
  } catch (const MalformedMessage& error) {
    throw RequestError(folder_.string() + ": root.der or trust.bin is damaged: " + error.what());
  }
}
void GridFolder::write_trust(const Trust& trust) const {
  if (!has("root.der")) write("root.der", trust.root());
  write("trust.bin", coded_trust(trust));
}

std::string GridFolder::certificate() const { return read("certificate.der"); }
void GridFolder::write_certificate(const std::string& der) const { write("certificate.der", der); }
std::string GridFolder::configuration() const { return read("configuration.toml"); }
void GridFolder::write_configuration(const std::string& text) const { write("configuration.toml", text); }
std::vector<Known> GridFolder::members() const {
  if (!has("members.bin")) return {};
  try {
    return read_members(read("members.bin"));
  } catch (const MalformedMessage& error) {
    throw RequestError((folder_ / "members.bin").string() + " is damaged: " + error.what());
  }
}
void GridFolder::write_members(const std::vector<Known>& members) const {
  write("members.bin", coded(members));
}
std::string GridFolder::promised() const { return has("promised.bin") ? read("promised.bin") : ""; }
void GridFolder::write_promised(const std::string& bytes) const { write("promised.bin", bytes); }
std::string GridFolder::address() const { return has("address") ? read("address") : ""; }
void GridFolder::write_address(const std::string& address) const { write("address", address); }
void GridFolder::remove_address() const {
  std::error_code ignored;
  std::filesystem::remove(folder_ / "address", ignored);
}

std::string coded(const std::vector<Known>& members) {
  Writer writer;
  writer.number(static_cast<std::uint32_t>(members.size()));
  for (const Known& known : members) {
    writer.bytes(known.id.bytes).number(static_cast<std::uint32_t>(known.addresses.size()));
    for (const std::string& address : known.addresses) writer.text(address);
  }
  return writer.take();
}

std::vector<Known> read_members(std::string_view text) {
  Reader reader(text);
  std::vector<Known> members(reader.count(kMostMembers, 36));
  for (Known& known : members) {
    known.id.bytes = reader.bytes<32>();
    known.addresses.resize(reader.count(64, 4));
    for (std::string& address : known.addresses) address = reader.text(256);
  }
  reader.end();
  return members;
}

std::string coded_trust(const Trust& trust) {
  Writer writer;
  const auto warrants = trust.warrants();
  const auto revocations = trust.revocations();
  writer.number(static_cast<std::uint32_t>(warrants.size()));
  for (const std::string& warrant : warrants) writer.text(warrant);
  writer.number(static_cast<std::uint32_t>(revocations.size()));
  for (const Revocation& revocation : revocations) writer.text(revocation.coded());
  return writer.take();
}

void learn_trust(Trust& trust, std::string_view text) {
  Reader reader(text);
  for (std::size_t left = reader.count(kMostProofs, 4); left > 0; --left)
    trust.learn(reader.text(kLongestProof));
  for (std::size_t left = reader.count(kMostProofs, 4); left > 0; --left)
    trust.learn(Revocation::parse(reader.text(kLongestProof)));
  reader.end();
}

}  // namespace veche::grid
