#pragma once

#include <filesystem>
#include <string>

#include "veche/comm/grid/grid.h"

namespace veche::grid {

// A person's request to the member that runs in a folder.
struct Request {
  enum class What : std::uint8_t { status = 1, invite, revoke, admit } what = What::status;
  std::string id;  // the member to revoke or admit
  Terms terms;     // of an invitation
};

// Symbols exported by the module, as extern "C". The caller owns the grid. `text` is the
// configuration or the invitation.
using MakeGrid = Grid*(const GridOptions& options, const std::string& text);
using AskMember = void(const std::filesystem::path& folder, const Request& request, std::string& answer,
                       Status* status);
inline constexpr char kFoundSymbol[] = "veche_grid_found";
inline constexpr char kJoinSymbol[] = "veche_grid_join";
inline constexpr char kResumeSymbol[] = "veche_grid_resume";
inline constexpr char kAskSymbol[] = "veche_grid_ask";

}  // namespace veche::grid
