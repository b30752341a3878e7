#pragma once

#include <filesystem>
#include <string>

#include "veche/comm/grid/grid.h"

namespace veche::grid {

// What a person asks of the member that runs in a folder.
struct Request {
  enum class What : std::uint8_t { status = 1, invite, revoke, admit } what = What::status;
  std::string id;  // of whom to revoke or admit
  Terms terms;     // of an invitation
};

// The symbols that the module exports, as extern "C"; the caller owns the grid. `text` is the configuration
// or the invitation.
using MakeGrid = Grid*(const GridOptions& options, const std::string& text);
using AskMember = void(const std::filesystem::path& folder, const Request& request, std::string& answer,
                       Status* status);
inline constexpr char kFoundSymbol[] = "veche_grid_found";
inline constexpr char kJoinSymbol[] = "veche_grid_join";
inline constexpr char kResumeSymbol[] = "veche_grid_resume";
inline constexpr char kAskSymbol[] = "veche_grid_ask";

}  // namespace veche::grid
