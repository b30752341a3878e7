#include "veche/data/formats/listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <unordered_map>

#include "veche/data/formats/image/image.h"

namespace veche {
namespace {

constexpr std::string_view kTestFolders[] = {"val", "validation", "valid",
                                             "test"};  // the first one that exists

std::string_view first_part(std::string_view path) { return path.substr(0, path.find('/')); }

// The path after its first component; empty if there is none.
std::string_view rest(std::string_view path) {
  const auto slash = path.find('/');
  return slash == std::string_view::npos ? std::string_view{} : path.substr(slash + 1);
}

bool is_hidden(std::string_view path) { return path.starts_with('.') || path.find("/.") != path.npos; }

// The folder that contains everything, as in many archives: "tiny-imagenet-200/train/...".
std::string common_folder(const std::vector<std::string_view>& paths) {
  for (std::string prefix;;) {
    const std::string_view part = first_part(paths.front().substr(prefix.size()));
    const bool common = std::ranges::all_of(paths, [&](std::string_view path) {
      path.remove_prefix(prefix.size());
      return first_part(path) == part && !rest(path).empty();
    });
    if (!common || part == "train") return prefix;
    prefix += std::string(part) + "/";
  }
}

class ByClass {
 public:
  ByClass(const Files& files, const DamagePolicy& policy) : files_(files), policy_(policy) {}

  Listing read(const std::vector<std::string>& folders) {
    sort_names();
    const bool parted = !train_.empty();
    name_classes(parted ? train_ : all_, folders, parted ? "train/" : "");
    Listing listing{.classes = names_, .train = label(parted ? train_ : all_), .test = {}};
    if (!parted) {
      hold_out_tenth(listing);
    } else {
      listing.test = read_test();
      if (listing.test.empty())
        throw RequestError(
            fmt::format("'{}' has train/ but no images in val/ or test/ to test on", files_.place));
    }
    return listing;
  }

 private:
  struct File {
    std::uint32_t number;
    std::string_view path;  // starting with the class
  };

  void sort_names() {
    std::vector<std::string_view> images;
    for (const std::string& path : files_.paths)
      if (is_image_name(path)) images.push_back(path);
    count_unread();
    if (images.empty() && unread_ > 0)
      throw RequestError(
          fmt::format("'{}' holds no images that can be read: {}", files_.place, about_unread()));
    if (unread_ > 0) policy_.found(fmt::format("of '{}', {}", files_.place, about_unread()), unread_);
    if (images.empty())
      throw RequestError(
          fmt::format("'{}' holds no images (.jpg, .jpeg or .png in a folder for each class)", files_.place));
    prefix_ = common_folder(images);
    for (std::uint32_t i = 0; i < files_.paths.size(); ++i) {
      std::string_view path = files_.paths[i];
      if (!path.starts_with(prefix_)) continue;
      path.remove_prefix(prefix_.size());
      if (path.ends_with("val_annotations.txt")) annotations_[std::string(first_part(path))] = i;
      if (!is_image_name(path)) continue;
      all_.push_back({i, path});
      if (first_part(path) == "train") train_.push_back({i, rest(path)});
      for (const std::string_view folder : kTestFolders)
        if (first_part(path) == folder) tests_[folder].push_back({i, rest(path)});
    }
    const auto by_name = [](std::vector<File>& list) { std::ranges::sort(list, {}, &File::path); };
    by_name(all_);
    by_name(train_);
    for (auto& [folder, list] : tests_) by_name(list);
  }

  // Images in folders; an image outside is not a sample.
  void count_unread() {
    for (const std::string& path : files_.paths) {
      const std::string_view format = unread_format_of_name(path);
      if (format.empty() || rest(path).empty() || is_hidden(path)) continue;
      if (unread_++ == 0) first_unread_ = path;
      unread_formats_.emplace(format);
    }
  }
  std::string about_unread() const {
    return fmt::format("{} file{}, such as '{}', {} of a format that is not read ({}): {}", unread_,
                       unread_ == 1 ? "" : "s", first_unread_, unread_ == 1 ? "is" : "are",
                       fmt::join(unread_formats_, ", "), kConvert);
  }

  void name_classes(const std::vector<File>& list, const std::vector<std::string>& folders,
                    const std::string& part) {
    std::set<std::string> names;
    for (const File& file : list)
      if (!rest(file.path).empty()) names.emplace(first_part(file.path));
    for (const std::string& folder : folders) {
      if (!folder.starts_with(prefix_ + part)) continue;
      const std::string_view name = std::string_view(folder).substr(prefix_.size() + part.size());
      if (name.empty() || name.find('/') != name.npos || is_hidden(name)) continue;
      if (names.emplace(name).second)
        policy_.found(fmt::format("class '{}' of '{}' has no images", part + std::string(name), files_.place),
                      0);
    }
    names_.assign(names.begin(), names.end());
    if (names_.size() < 2)
      throw RequestError(
          fmt::format("'{}' holds {}; images lie in a folder for each class, two classes at least",
                      files_.place, names_.empty() ? "no folder of images" : "only one class"));
    for (std::uint32_t i = 0; i < names_.size(); ++i) labels_[names_[i]] = i;
  }

  std::vector<Listing::Item> label(const std::vector<File>& list) {
    std::vector<Listing::Item> items;
    for (const File& file : list) {
      if (rest(file.path).empty()) {
        policy_.found(
            fmt::format("'{}' of '{}' lies in no class's folder", files_.paths[file.number], files_.place));
        continue;
      }
      const auto known = labels_.find(std::string(first_part(file.path)));
      if (known == labels_.end())
        throw RequestError(fmt::format("'{}' of '{}' is of a class that the training set does not have",
                                       files_.paths[file.number], files_.place));
      items.push_back({file.number, known->second});
    }
    return items;
  }

  std::vector<Listing::Item> read_test() {
    for (const std::string_view folder : kTestFolders) {
      const auto found = tests_.find(folder);
      if (found == tests_.end()) continue;
      const auto annotations = annotations_.find(std::string(folder));
      return annotations == annotations_.end() ? label(found->second)
                                               : annotated(found->second, annotations->second);
    }
    return {};
  }

  // Lines of "NAME.JPEG<tab>CLASS<tab>an unused bounding box".
  std::vector<Listing::Item> annotated(const std::vector<File>& list, std::uint32_t annotations) {
    std::unordered_map<std::string, std::string> class_of;
    std::istringstream text(files_.text(annotations));
    const std::string& place = files_.paths[annotations];
    for (std::string line; std::getline(text, line);) {
      std::istringstream words(line);
      std::string name, word;
      if (!(words >> name)) continue;
      if (!(words >> word) || !labels_.contains(word)) {
        policy_.found(fmt::format("'{}' gives '{}' the class '{}', which the training set does not have",
                                  place, name, word));
        continue;
      }
      class_of[name] = word;
    }
    std::vector<Listing::Item> items;
    for (const File& file : list) {
      const std::string name(file.path.substr(file.path.rfind('/') + 1));
      const auto known = class_of.find(name);
      if (known == class_of.end()) {
        policy_.found(fmt::format("'{}' has no label in '{}'", files_.paths[file.number], place));
        continue;
      }
      items.push_back({file.number, labels_[known->second]});
      class_of.erase(known);
    }
    if (!class_of.empty())
      policy_.found(fmt::format("'{}' labels {} images that are not there, such as '{}'", place,
                                class_of.size(), std::ranges::min_element(class_of)->first),
                    class_of.size());
    return items;
  }

  const Files& files_;
  const DamagePolicy& policy_;
  std::string prefix_;
  std::vector<File> all_, train_;
  std::map<std::string_view, std::vector<File>> tests_;
  std::map<std::string, std::uint32_t> annotations_;  // by the folder they describe
  std::size_t unread_ = 0;                            // images in unsupported formats
  std::string first_unread_;
  std::set<std::string> unread_formats_;
  std::vector<std::string> names_;
  std::map<std::string, std::uint32_t> labels_;
};

}  // namespace

bool is_image_name(std::string_view path) {
  if (is_hidden(path)) return false;
  const auto dot = path.rfind('.');
  if (dot == path.npos) return false;
  std::string ending(path.substr(dot + 1));
  std::ranges::transform(ending, ending.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return ending == "jpg" || ending == "jpeg" || ending == "png";
}

Listing list_by_class(const Files& files, const std::vector<std::string>& folders,
                      const DamagePolicy& policy) {
  return ByClass(files, policy).read(folders);
}

void hold_out_tenth(Listing& listing) {
  constexpr std::size_t kTenth = 10;
  std::vector<std::size_t> seen(listing.classes.size());
  std::vector<Listing::Item> train;
  for (const Listing::Item item : listing.train) {
    const bool test = ++seen[item.label] % kTenth == 0;
    (test ? listing.test : train).push_back(item);
  }
  // Classes with few samples: a test set of their first samples is better than none.
  if (listing.test.empty() && train.size() > 1) {
    listing.test.push_back(train.back());
    train.pop_back();
  }
  listing.train = std::move(train);
}

}  // namespace veche
