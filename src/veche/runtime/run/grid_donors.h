#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "veche/comm/grid/grid.h"
#include "veche/train/views/catch_up.h"

namespace veche {

// The linked members of a grid, from which this process fetches its state.
class GridDonors : public Donors {
 public:
  // `interrupted` ends all waiting.
  GridDonors(grid::Grid& grid, const std::atomic<bool>& interrupted);

  // False: no member is linked.
  bool wait_for_one();
  std::size_t count() override;
  void ask(std::size_t donor, std::uint64_t id, const std::string& name, std::uint64_t offset,
           std::uint32_t length) override;
  std::optional<Answer> next() override;
  bool pause() override;

 private:
  grid::Grid& grid_;
  const std::atomic<bool>& interrupted_;
  const std::unique_ptr<grid::Grid::Fetches> fetches_;
  std::vector<grid::MemberId> known_;
};

}  // namespace veche
