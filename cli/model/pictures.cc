#include "cli/model/pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "veche/base/files/mapped_file.h"
#include "veche/data/formats/image/image.h"
#include "veche/data/formats/listing.h"
#include "veche/data/formats/pack/index.h"
#include "veche/data/sets/damage.h"
#include "veche/errors.h"

namespace veche::cli {
namespace {

namespace fs = std::filesystem;

bool is_picture(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  unsigned char first[16] = {};
  in.read(reinterpret_cast<char*>(first), sizeof first);
  return (first[0] == 0xff && first[1] == 0xd8) || (first[0] == 0x89 && first[1] == 'P') ||
         !unread_format(first).empty();  // reading it names the format
}

std::string text_of(const Shape& shape) {
  return fmt::format("{}x{}x{}", shape.channels, shape.height, shape.width);
}

}  // namespace

void check_shape(const Dataset& set, const ModelInput& input, const std::string& name) {
  if (set.shape() != input.shape)
    throw RequestError(fmt::format("the samples of '{}' are {}, the model sees {}", name,
                                   text_of(set.shape()), text_of(input.shape)));
}

std::vector<float> sample_of(const Dataset& set, std::size_t index, const PictureReader& reader) {
  const auto& pixels = dynamic_cast<const PixelSet&>(set);
  std::vector<std::uint8_t> room(set.shape().size());
  return reader.normalize(pixels.pixels(index, room));
}

Pictures::Pictures(const std::vector<std::string>& words, const ModelInput& input) : reader_(input) {
  for (const std::string& word : words) {
    std::error_code unknown;
    if (!fs::exists(word, unknown)) throw RequestError(fmt::format("there is no '{}'", word));
    const bool folder = fs::is_directory(word);
    if (folder && !fs::exists(fs::path(word) / kPackedIndexName, unknown))
      add_folder(word);
    else if (!folder && (is_picture(word) || is_image_name(word)))
      files_.push_back(word);
    else
      add_set(word, input);
  }
  size_ = files_.size();
  for (const Set& set : sets_) size_ += set.source.train->size() + set.source.test->size();
}

void Pictures::add_folder(const std::string& word) {
  std::vector<std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(word))
    if (const std::string name = entry.path().string();
        entry.is_regular_file() && (is_image_name(name) || !unread_format_of_name(name).empty()))
      found.push_back(name);
  if (found.empty())
    throw RequestError(fmt::format("the folder '{}' has no pictures (.jpg, .jpeg, .png)", word));
  std::ranges::sort(found);
  files_.insert(files_.end(), found.begin(), found.end());
}

void Pictures::add_set(const std::string& word, const ModelInput& input) {
  DataSettings settings;
  settings.path = {word};
  Set set{word, open_data(settings, 1, {.size_if_unequal = input.shape.height})};
  for (const auto& part : {set.source.train, set.source.test}) {
    check_shape(*part, input, word);
    if (dynamic_cast<const PixelSet*>(part.get()) == nullptr)
      throw RequestError(fmt::format("the samples of '{}' are not images", word));
  }
  const ModelInput of_set = input_of(set.source);
  set.knows_classes = of_set.class_names == input.class_names && of_set.classes == input.classes;
  sets_.push_back(std::move(set));
}

void Pictures::each(const std::function<void(One)>& use) const {
  for (const std::string& file : files_) {
    One one{file, {}, {}};
    try {
      one.sample = reader_.read(MappedFile(file).octets());
    } catch (const Damaged& damage) {
      one.damage = damage.what();
    }
    use(std::move(one));
  }
  for (const Set& set : sets_)
    for (const auto* part : {&set.source.train, &set.source.test})
      for (std::size_t i = 0; i < (*part)->size(); ++i) {
        One one{fmt::format("{}: {} {}", set.word, part == &set.source.train ? "train" : "test", i), {}, {}};
        if (set.knows_classes) one.label = static_cast<std::size_t>((*part)->label(i));
        try {
          one.sample = sample_of(**part, i, reader_);
        } catch (const RunError& damage) {  // the set's own sentence
          one.damage = damage.what();
        }
        use(std::move(one));
      }
}

}  // namespace veche::cli
