#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "veche/data/formats/archive/archive.h"
#include "veche/data/formats/folder_files.h"
#include "veche/data/sets/decoded_set.h"
#include "veche/data/sets/open.h"
#include "veche/errors.h"

namespace veche {
namespace {

namespace fs = std::filesystem;

struct Parts {
  std::shared_ptr<const EncodedSet> train, test;
  std::vector<std::string> classes;
};

DataSource decode(const OpenRequest& request, std::string kind, const Parts& parts) {
  const Survey found = survey(*parts.train, request);
  const Normalization normalization =
      choose_normalization(request, parts.classes, found.decoding.shape, found.normalization);
  const auto classes = static_cast<int>(parts.classes.size());
  const auto set = [&](std::shared_ptr<const EncodedSet> files) {
    return std::make_shared<DecodedSet>(std::move(files), classes, found.decoding, normalization,
                                        request.policy);
  };
  return {.name = request.path.filename().string(),
          .kind = std::move(kind),
          .place = request.path.string(),
          .train = set(parts.train),
          .test = set(parts.test),
          .class_names = parts.classes,
          .damage = {request.policy.log}};
}

// Normalises "./train/cat/1.jpg" to "train/cat/1.jpg".
std::string plain(std::string name) {
  while (name.starts_with("./")) name.erase(0, 2);
  return name;
}

}  // namespace

DataSource open_image_folder(const OpenRequest& request) {
  auto files = std::make_shared<Files>();
  files->place = request.path.string();
  FolderFiles found =
      files_below(request.path, [&](const std::string& sentence) { request.policy.log->add(sentence, 0); });
  files->paths = std::move(found.files);
  files->text = [path = request.path, names = files.get()](std::size_t file) {
    std::ifstream in(path / names->paths[file], std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  Listing listing = list_by_class(*files, found.folders, request.policy);
  std::string folder = request.path.string();
  while (folder.ends_with('/') && folder.size() > 1) folder.pop_back();
  return decode(request, "a folder of images",
                {.train = files_of_folder(folder, files, std::move(listing.train)),
                 .test = files_of_folder(folder, files, std::move(listing.test)),
                 .classes = std::move(listing.classes)});
}

DataSource open_archive(const OpenRequest& request) {
  auto files = std::make_shared<Files>();
  auto contents = std::make_shared<Contents>();
  std::vector<std::string> shards;  // shard of each file
  files->place = request.path.string();
  for (const fs::path& path : find_archives(request.path)) {
    Archive archive = map_archive(path);
    if (!archive.damage.empty())
      request.policy.found(fmt::format("'{}' is truncated or damaged ({})", path.string(), archive.damage),
                           0);
    for (Archive::Member& member : archive.members) {
      files->paths.push_back(plain(std::move(member.name)));
      contents->files.push_back(member.bytes);
      shards.push_back(path.filename().string());
    }
    std::ranges::move(archive.owners, std::back_inserter(contents->owners));
    std::ranges::move(archive.files, std::back_inserter(contents->mapped));
  }
  files->text = [contents](std::size_t file) {
    const auto bytes = contents->files[file];
    return std::string(bytes.begin(), bytes.end());
  };
  const bool webdataset = is_webdataset(*files);
  if (webdataset)  // the shard is part of a sample's identity
    for (std::size_t i = 0; i < shards.size(); ++i) files->paths[i] = shards[i] + "/" + files->paths[i];
  Listing listing =
      webdataset ? list_webdataset(*files, request.policy) : list_by_class(*files, {}, request.policy);
  return decode(request, webdataset ? "tar shards (WebDataset)" : "a tar archive of images",
                {.train = files_in_memory(files, contents, std::move(listing.train)),
                 .test = files_in_memory(files, contents, std::move(listing.test)),
                 .classes = std::move(listing.classes)});
}

}  // namespace veche
