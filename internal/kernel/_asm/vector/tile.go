package main

func tiles(g *gen) {}
