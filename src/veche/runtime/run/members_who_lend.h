#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "veche/comm/grid/grid.h"
#include "veche/train/views/catch_up.h"

namespace veche {

// Members that are linked, asked for their state.
class MembersWhoLend : public Lenders {
 public:
  // An interruption may be null; it ends all waiting.
  MembersWhoLend(grid::Grid& grid, const std::atomic<bool>* interrupted);

  // False: nobody is there.
  bool wait_for_one();
  std::size_t count() override;
  void ask(std::size_t lender, std::uint64_t id, const std::string& name, std::uint64_t offset,
           std::uint32_t length) override;
  std::optional<Answer> next() override;
  bool pause() override;

 private:
  bool goes_on() const { return interrupted_ == nullptr || !*interrupted_; }

  grid::Grid& grid_;
  const std::atomic<bool>* const interrupted_;
  const std::unique_ptr<grid::Grid::Fetches> fetches_;
  std::vector<grid::MemberId> known_;
};

}  // namespace veche
