#include <gtest/gtest.h>
#include <opendht.h>

#include "veche/comm/grid/discovery/directory.h"
#include "veche/errors.h"

extern "C" veche::grid::Directory* veche_dht_directory(const std::string& bootstrap);

namespace veche::grid {
namespace {

TEST(Dht, WhatOnePutsAnotherFinds) {
  dht::DhtRunner bootstrap;
  bootstrap.run(0, {}, true);
  const std::string place = "127.0.0.1:" + std::to_string(bootstrap.getBoundPort());
  const std::unique_ptr<Directory> a(veche_dht_directory(place)), b(veche_dht_directory(place + "," + place));
  const std::string name(32, 'n'), bytes = std::string(900, 'x') + std::string(1, '\0');
  const auto finds = [&](Directory& who, const std::string& what) {
    for (int tries = 0; tries < 30; ++tries)
      for (const std::string& value : who.get(name, Time(1)))
        if (value == what) return true;
    return false;
  };
  a->put(name, bytes);
  EXPECT_TRUE(finds(*b, bytes));
  b->put(name, "later");
  EXPECT_TRUE(finds(*a, "later"));
  EXPECT_TRUE(a->get(std::string(32, 'o'), Time(1)).empty());
  bootstrap.join();
}

TEST(Dht, AWrongPlaceIsRefused) { EXPECT_THROW(veche_dht_directory("nowhere"), RequestError); }

}  // namespace
}  // namespace veche::grid
