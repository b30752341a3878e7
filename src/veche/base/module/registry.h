#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "veche/base/thread/mutex.h"
#include "veche/errors.h"

namespace veche {

// Named entries, to which programs add their own. An entry never moves after it was added. Any
// thread.
template <class Info>
class Registry {
 public:
  // `kind` is the noun for messages. `taken` are further names in use. `makes` says whether the
  // entry has a factory.
  void add(Info info, const std::string& kind, bool makes,
           const std::function<bool(const std::string&)>& taken) {
    if (info.name.empty()) throw RequestError("a " + kind + " cannot be registered without a name");
    if (!makes)
      throw RequestError("the " + kind + " '" + info.name +
                         "' cannot be registered without a function that makes one");
    if (find(info.name) != nullptr || taken(info.name))
      throw RequestError("a " + kind + " '" + info.name +
                         "' exists already: register yours under another name");
    const MutexLock lock(mutex_);
    all_.push_back(std::move(info));
  }

  const Info* find(std::string_view name) const {
    const MutexLock lock(mutex_);
    const auto found = std::ranges::find(all_, name, &Info::name);
    return found == all_.end() ? nullptr : &*found;
  }

  std::vector<std::string> names() const {
    const MutexLock lock(mutex_);
    std::vector<std::string> names;
    for (const Info& info : all_) names.push_back(info.name);
    return names;
  }

 private:
  mutable Mutex mutex_;
  std::deque<Info> all_ VECHE_GUARDED_BY(mutex_);
};

}  // namespace veche
