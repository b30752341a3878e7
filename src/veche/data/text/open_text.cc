#include "veche/data/text/open_text.h"

#include <fmt/format.h>

#include "veche/data/text/text_set.h"
#include "veche/errors.h"

namespace veche {
namespace {

namespace fs = std::filesystem;

// data.test: a share, or a path.
void read_test(const std::optional<Value>& test, TextRequest& request) {
  if (!test) return;
  if (const auto* path = std::get_if<std::string>(&test->data)) {
    std::error_code error;
    if (!fs::exists(*path, error))
      throw RequestError(
          fmt::format("data.test: there is no '{}': give a path, or a share such as 0.1", *path));
    request.test = *path;
    return;
  }
  const auto* share = std::get_if<double>(&test->data);
  if (share == nullptr || !(*share > 0 && *share < 1))
    throw RequestError("data.test of a text is a share above 0 and below 1, such as 0.1, or a path");
  request.test_share = *share;
}

bool has_name_of_text(const fs::path& file) {
  const std::string name = file.filename().string();
  return name.ends_with(".txt") || name.ends_with(".txt.gz") || name.ends_with(".txt.zst");
}

}  // namespace

bool looks_like_text(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error))
    return has_name_of_text(path) || (fs::is_regular_file(path, error) && TokenFile::is_one(path));
  std::size_t files = 0;
  for (fs::recursive_directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (!at->is_regular_file(ignored) || at->path().filename().string().starts_with('.')) continue;
    if (!has_name_of_text(at->path())) return false;
    ++files;
  }
  return files > 0;
}

TokenizerSpec tokenizer_of(const DataSettings& settings) {
  return settings.tokenizer ? TokenizerSpec::read(*settings.tokenizer) : TokenizerSpec{};
}

TextRequest text_request(const DataSettings& settings, const std::vector<std::string>& paths) {
  TextRequest request;
  for (const std::string& path : paths) {
    if (path.empty()) throw RequestError("data.name = \"text\" needs data.path: a file or a folder of files");
    request.paths.emplace_back(path);
  }
  request.tokenizer = tokenizer_of(settings);
  if (!settings.vocabulary.empty()) request.agreed = unpack_tokenizer(settings.vocabulary);
  read_test(settings.test, request);
  request.kept = fs::path(settings.folder) / "packed";
  request.policy.on = settings.bad;
  return request;
}

DataSource open_text(const DataSettings& settings, const std::vector<std::string>& paths, int context) {
  const TextRequest request = text_request(settings, paths);
  const auto files = pack_texts(request);
  TextSets sets = make_text_sets(files, paths, context);
  fs::path name = request.paths.front();
  if (name.filename().empty()) name = name.parent_path();
  return {.name = name.filename().string(),
          .kind = "text in " + word_of(files.front()->tokenizer()->kind()),
          .place = paths.front(),
          .train = std::move(sets.train),
          .test = std::move(sets.test),
          .damage = {request.policy.log},
          .tokenizer = files.front()->tokenizer()};
}

}  // namespace veche
