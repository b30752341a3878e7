#include "veche/data/fetch/fetch.h"

#include <fmt/format.h>

#include <algorithm>

#include "veche/base/files/files.h"
#include "veche/base/module/modules.h"
#include "veche/base/text/nearest.h"
#include "veche/data/fetch/transfer.h"
#include "veche/data/formats/archive/archive.h"
#include "veche/errors.h"

namespace veche {
namespace {

namespace fs = std::filesystem;

std::string md5_of(const fs::path& file) {
  std::string digest;
  module_function<decltype(veche_md5_of_file)>(modules::kCurl, "veche_md5_of_file")(file, digest);
  return digest;
}

bool is_archive(const std::string& name) { return name.ends_with(".tar.gz"); }

const PublicSet& public_set(const std::string& name) {
  const auto& sets = public_sets();
  const auto set = std::ranges::find(sets, name, &PublicSet::name);
  if (set != sets.end()) return *set;
  std::vector<std::string> names;
  for (const PublicSet& known : sets) names.push_back(known.name);
  throw RequestError(fmt::format("there is no public set '{}'{}", name, suggestion(name, names)));
}

class Fetch {
 public:
  Fetch(const PublicSet& set, const FetchOptions& options)
      : set_(set), options_(options), folder_(options.folder / set.name) {
    std::error_code error;
    fs::create_directories(folder_, error);
    if (error)
      throw RequestError(
          fmt::format("the folder '{}' cannot be made ({})", folder_.string(), error.message()));
  }

  fs::path run() {
    for (const PublicFile& file : set_.files) {
      const fs::path whole = folder_ / file.name;
      std::error_code error;
      if (fs::exists(unpacked_mark(file), error)) {
        options_.tell(fmt::format("{} is there already", file.name));
        continue;
      }
      if (fs::exists(whole, error) && md5_of(whole) == md5(file)) {
        options_.tell(fmt::format("{} is there already", whole.string()));
      } else {
        download(file, whole);
      }
      if (is_archive(file.name)) unpack(file, whole);
    }
    return folder_;
  }

 private:
  std::string md5(const PublicFile& file) const {
    const auto own = options_.md5.find(file.name);
    return own == options_.md5.end() ? file.md5 : own->second;
  }
  // The archive is deleted after unpacking; this file records that it was downloaded and correct.
  fs::path unpacked_mark(const PublicFile& file) const { return folder_ / ("." + file.name + ".unpacked"); }

  void download(const PublicFile& file, const fs::path& whole) {
    fs::path part = whole;
    part += ".part";
    const std::string address = options_.address.empty() ? set_.address : options_.address;
    const std::string url = address + (address.ends_with('/') ? "" : "/") + file.name;
    options_.tell(fmt::format("{} -> {}", url, whole.string()));
    Transfer transfer;
    module_function<decltype(veche_download)>(modules::kCurl, "veche_download")(url, part, options_.progress,
                                                                                transfer);
    std::error_code ignored;
    if (transfer.outcome != Transfer::Outcome::done && fs::file_size(part, ignored) == 0)
      fs::remove(part, ignored);
    if (transfer.outcome == Transfer::Outcome::no_network) throw RunError(without_network(url, transfer.why));
    if (transfer.outcome == Transfer::Outcome::cut_off)
      throw RunError(fmt::format("{} was cut off ({}); run this again to resume", url, transfer.why));
    if (transfer.outcome == Transfer::Outcome::refused)
      throw RunError(
          fmt::format("{} cannot be downloaded ({}); --from takes another address", url, transfer.why));
    const std::string found = md5_of(part);
    if (found != md5(file)) {
      fs::remove(part);
      throw RunError(fmt::format("{} is not the file it should be: its MD5 is {} and not {}; it was removed",
                                 url, found, md5(file)));
    }
    rename_durably(part, whole);
  }

  std::string without_network(const std::string& url, const std::string& why) const {
    std::vector<std::string> names;
    for (const PublicFile& file : set_.files) names.push_back(file.name);
    return fmt::format(
        "{} cannot be reached ({}). Without a network: download {} from {} elsewhere, put {} into '{}' and "
        "run "
        "this again; or --from an address that can be reached",
        url, why, fmt::join(names, ", "), set_.address, names.size() == 1 ? "it" : "them", folder_.string());
  }

  void unpack(const PublicFile& file, const fs::path& whole) const {
    const Archive archive = map_archive(whole);
    if (!archive.damage.empty())
      throw RunError(fmt::format("'{}' does not unpack ({})", whole.string(), archive.damage));
    for (const Archive::Member& member : archive.members) {
      const fs::path inside = fs::path(member.name).lexically_normal();
      if (inside.is_absolute() || inside.empty() || *inside.begin() == "..")
        throw RunError(fmt::format("'{}' holds '{}', which would be written outside of it", whole.string(),
                                   member.name));
      fs::create_directories((folder_ / inside).parent_path());
      const std::span<const std::byte> parts[] = {std::as_bytes(member.bytes)};
      write_file(folder_ / inside, parts);
    }
    write_file(unpacked_mark(file), md5(file) + "\n");
    fs::remove(whole);
  }

  const PublicSet& set_;
  const FetchOptions& options_;
  const fs::path folder_;
};

}  // namespace

const std::vector<PublicSet>& public_sets() {
  static const std::vector<PublicSet> sets = {
      {.name = "fashion-mnist",
       .address = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
       .files = {{"train-images-idx3-ubyte.gz", "8d4fb7e6c68d591d4c3dfef9ec88bf0d"},
                 {"train-labels-idx1-ubyte.gz", "25c81989df183df01b3e8a0aad5dffbe"},
                 {"t10k-images-idx3-ubyte.gz", "bef4ecab320f06d8554ea6380940ec79"},
                 {"t10k-labels-idx1-ubyte.gz", "bb300cfdad3c16e7a12a480ee83cd310"}}},
      {.name = "mnist",
       .address = "https://ossci-datasets.s3.amazonaws.com/mnist/",
       .files = {{"train-images-idx3-ubyte.gz", "f68b3c2dcbeaaa9fbdd348bbdeb94873"},
                 {"train-labels-idx1-ubyte.gz", "d53e105ee54ea40749a09fcbcd1e9432"},
                 {"t10k-images-idx3-ubyte.gz", "9fb629c4189551a2d022fa330f9573f3"},
                 {"t10k-labels-idx1-ubyte.gz", "ec29112dd5afa0611ce80d1b7f02629c"}}},
      {.name = "cifar10",
       .address = "https://www.cs.toronto.edu/~kriz/",
       .files = {{"cifar-10-binary.tar.gz", "c32a1d4ab5d03f1284b67883e8d87530"}}},
      {.name = "cifar100",
       .address = "https://www.cs.toronto.edu/~kriz/",
       .files = {{"cifar-100-binary.tar.gz", "03b5dce01913d631647c71ecec9e9cb8"}}},
  };
  return sets;
}

fs::path fetch(const std::string& name, const FetchOptions& options) {
  const PublicSet& set = public_set(name);
  try {
    return Fetch(set, options).run();
  } catch (...) {
    // An empty folder would look like an existing set.
    std::error_code ignored;
    fs::remove(options.folder / set.name, ignored);
    throw;
  }
}

}  // namespace veche
