#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "veche/data/sets/source.h"
#include "veche/runtime/inference/model_input.h"

namespace veche::cli {

// The pictures that arguments of a command name, as samples for a model.
//
// An argument is a picture (JPEG, PNG), a folder of pictures, which is searched recursively, or a
// set: packed (`veche data pack`), an archive, or another kind that `data.path` takes and that is a
// file.
class Pictures {
 public:
  // Throws RequestError for an argument that names nothing, before anything is read.
  Pictures(const std::vector<std::string>& words, const ModelInput& input);

  struct One {
    std::string name;
    std::vector<float> sample;              // empty: it cannot be read
    std::string damage;                     // then, why: "ends early"
    std::optional<std::size_t> label = {};  // in a set with the model's classes
  };
  std::size_t size() const { return size_; }
  // Calls `use` for one picture after the other; it may throw.
  void each(const std::function<void(One)>& use) const;

 private:
  struct Set {
    std::string word;
    DataSource source;
    bool knows_classes = false;
  };
  void add_set(const std::string& word, const ModelInput& input);
  void add_folder(const std::string& word);

  const PictureReader reader_;
  std::vector<std::string> files_;
  std::vector<Set> sets_;
  std::size_t size_ = 0;
};

// The samples of one part of a set, as input of the model. Throws RequestError where their shape
// differs.
void check_shape(const Dataset& set, const ModelInput& input, const std::string& name);
std::vector<float> sample_of(const Dataset& set, std::size_t index, const PictureReader& reader);

}  // namespace veche::cli
