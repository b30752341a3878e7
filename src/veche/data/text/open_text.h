#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "veche/data/sets/source.h"
#include "veche/data/text/pack_texts.h"
#include "veche/settings.h"

namespace veche {

// The key data.tokenizer; characters when it is absent. Throws RequestError.
TokenizerSpec tokenizer_of(const DataSettings& settings);

// The texts at `paths`, as the section [data] says.
TextRequest text_request(const DataSettings& settings, const std::vector<std::string>& paths);

// Whether the name of a file says text, or a folder holds nothing else; a packed text too.
bool looks_like_text(const std::filesystem::path& path);

// data.name = "text": the texts of one or more sites, with one vocabulary. Samples are windows of
// `context` tokens and the token after them. Throws RequestError.
DataSource open_text(const DataSettings& settings, const std::vector<std::string>& paths, int context);

}  // namespace veche
