#pragma once

#include <memory>
#include <optional>
#include <string>

#include "veche/base/thread/mutex.h"
#include "veche/comm/grid/grid.h"
#include "veche/comm/views.h"
#include "veche/data/table/scheme.h"
#include "veche/endpoint.h"
#include "veche/runtime/run/member_plan.h"

namespace veche {

// The members of a grid with tables of their own agree on one scheme (docs/tables.md). At the
// beginning of every view before the first step each member tells the sums of its training rows,
// and all compute the same scheme from them. Afterwards the scheme is fixed: newcomers take that of
// the members that have trained.
class MemberScheme {
 public:
  explicit MemberScheme(const MemberPlan& plan) : plan_(plan) {}

  // Called by the thread of each local node at the beginning of a view; the `first` one tells the
  // sums of its member. Throws ViewChanged where another scheme than that of the plan was agreed
  // on: the caller then applies it and goes on in the next view. Throws RequestError where the
  // tables do not fit together.
  void agree(Endpoint& endpoint, const View& view, bool first);
  // The scheme to apply, once.
  std::shared_ptr<const TableScheme> take();

  // Training begins: the scheme does not change any more.
  void fix();
  // What `fetch` gets from this member; none: not fixed yet. Any thread.
  std::optional<Message> told() const;
  // Asks the members for it, before this one has joined a view. Null: no member knows it.
  static std::shared_ptr<const TableScheme> fetch(grid::Grid& grid);
  static constexpr const char* kPiece = "scheme";  // its name among the pieces that members lend

 private:
  std::string message(bool has_trained) const;

  const MemberPlan& plan_;
  mutable Mutex mutex_;
  std::shared_ptr<const TableScheme> agreed_ VECHE_GUARDED_BY(mutex_);
  std::string fixed_ VECHE_GUARDED_BY(mutex_);  // the message about the fixed scheme
};

}  // namespace veche
