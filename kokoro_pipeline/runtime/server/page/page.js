// Speaks a text: plays the pieces while they arrive, highlights the word that is being spoken.
"use strict";

const RATE = 24000;
const byId = (id) => document.getElementById(id);
const LANGUAGES = {
  "en-us": "American English", "en-gb": "British English", es: "Spanish", fr: "French", hi: "Hindi",
  it: "Italian", ja: "Japanese", "pt-br": "Brazilian Portuguese", zh: "Mandarin Chinese",
};

let running = null;

class Speaking {
  constructor(text) {
    this.text = text;
    this.aborter = new AbortController();
    this.context = new AudioContext({ sampleRate: RATE });
    this.origin = null; // the clock of the context when the audio begins
    this.seconds = 0;
    this.samples = [];
    this.words = [];
    this.spans = [];
    this.written = 0;
    this.finished = false;
  }

  headers() {
    const key = byId("key").value;
    return { "Content-Type": "application/json", ...(key ? { Authorization: `Bearer ${key}` } : {}) };
  }

  async run() {
    const answer = await fetch("dev/captioned_speech", {
      method: "POST",
      headers: this.headers(),
      signal: this.aborter.signal,
      body: JSON.stringify({
        input: this.text,
        voice: byId("voice").value,
        lang: byId("lang").value || null,
        speed: Number(byId("speed").value),
        response_format: "pcm",
      }),
    });
    if (!answer.ok) throw new Error(await errorOf(answer));
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      for (const line of lines) if (line) this.take(JSON.parse(line));
    }
    this.finished = true;
    this.offerDownloads();
    byId("status").textContent = `${this.seconds.toFixed(1)} s of audio`;
  }

  take(piece) {
    const bytes = Uint8Array.from(atob(piece.audio), (c) => c.charCodeAt(0));
    const pcm = new Int16Array(bytes.buffer);
    if (pcm.length) this.play(pcm);
    for (const word of piece.timestamps) this.show(word);
    draw(this.samples, this.seconds);
    byId("status").textContent = `speaking: ${this.seconds.toFixed(1)} s of audio so far`;
  }

  play(pcm) {
    const buffer = this.context.createBuffer(1, pcm.length, RATE);
    const channel = buffer.getChannelData(0);
    for (let i = 0; i < pcm.length; i += 1) channel[i] = pcm[i] / 32767;
    const source = this.context.createBufferSource();
    source.buffer = buffer;
    source.connect(this.context.destination);
    const now = this.context.currentTime;
    // If a piece came late, what follows moves with it.
    if (this.origin === null || this.origin + this.seconds < now) this.origin = now + 0.05 - this.seconds;
    source.start(this.origin + this.seconds);
    this.samples.push(pcm);
    this.seconds += pcm.length / RATE;
    source.onended = () => { if (this.finished && this.position() >= this.seconds - 0.1) ended(this); };
  }

  position() {
    return this.origin === null ? 0 : this.context.currentTime - this.origin;
  }

  show(word) {
    const place = byId("words");
    const at = this.text.indexOf(word.word, this.written);
    if (at >= 0) {
      place.append(this.text.slice(this.written, at));
      this.written = at + word.word.length;
    } else {
      place.append(" ");
    }
    const shown = document.createElement("span");
    shown.textContent = word.word;
    place.append(shown);
    this.words.push(word);
    this.spans.push(shown);
    const row = byId("timings").insertRow();
    for (const text of [word.word, word.start_time.toFixed(3), word.end_time.toFixed(3)]) {
      row.insertCell().textContent = text;
    }
  }

  highlight() {
    const now = this.position();
    this.words.forEach((word, i) => {
      const spoken = word.start_time <= now && now < word.end_time;
      const shown = this.spans[i];
      if (spoken === (shown.localName === "mark")) return;
      const other = document.createElement(spoken ? "mark" : "span");
      other.textContent = shown.textContent;
      shown.replaceWith(other);
      this.spans[i] = other;
    });
  }

  stop() {
    this.aborter.abort();
    this.context.close();
  }

  offerDownloads() {
    byId("words").append(this.text.slice(this.written));
    offer("audio", new Blob([wavHeader(this.samples), ...this.samples], { type: "audio/wav" }));
    offer("subtitles", new Blob([vtt(this.words)], { type: "text/vtt" }));
  }
}

async function errorOf(answer) {
  try {
    return (await answer.json()).error.message;
  } catch {
    return `the server answered ${answer.status}`;
  }
}

function offer(id, blob) {
  const link = byId(id);
  if (link.href) URL.revokeObjectURL(link.href);
  link.href = URL.createObjectURL(blob);
  link.hidden = false;
}

function wavHeader(samples) {
  const size = 2 * samples.reduce((sum, part) => sum + part.length, 0);
  const view = new DataView(new ArrayBuffer(44));
  const text = (at, letters) => [...letters].forEach((c, i) => view.setUint8(at + i, c.charCodeAt(0)));
  text(0, "RIFF"); view.setUint32(4, 36 + size, true); text(8, "WAVEfmt ");
  view.setUint32(16, 16, true); view.setUint16(20, 1, true); view.setUint16(22, 1, true);
  view.setUint32(24, RATE, true); view.setUint32(28, 2 * RATE, true);
  view.setUint16(32, 2, true); view.setUint16(34, 16, true);
  text(36, "data"); view.setUint32(40, size, true);
  return view.buffer;
}

function clock(seconds) {
  return new Date(Math.round(seconds * 1000)).toISOString().slice(11, 23);
}

function vtt(words) {
  const cues = [];
  for (let i = 0; i < words.length; i += 8) {
    const part = words.slice(i, i + 8);
    const text = part.map((word) => word.word.replace(/&/g, "&amp;").replace(/</g, "&lt;")).join(" ");
    cues.push(`${clock(part[0].start_time)} --> ${clock(part[part.length - 1].end_time)}\n${text}\n`);
  }
  return `WEBVTT\n\n${cues.join("\n")}`;
}

function draw(samples, seconds) {
  const canvas = byId("wave");
  const pen = canvas.getContext("2d");
  const { width, height } = canvas;
  const perColumn = (seconds * RATE) / width;
  pen.clearRect(0, 0, width, height);
  pen.fillStyle = getComputedStyle(document.body).color;
  const peaks = new Float32Array(width);
  let at = 0;
  for (const part of samples) {
    for (let i = 0; i < part.length; i += 4, at += 4) {
      const column = Math.min(width - 1, Math.floor(at / perColumn));
      peaks[column] = Math.max(peaks[column], Math.abs(part[i]) / 32767);
    }
  }
  peaks.forEach((peak, x) => pen.fillRect(x, (height * (1 - peak)) / 2, 1, Math.max(1, height * peak)));
}

function ended(speaking) {
  speaking.highlight();
  if (running === speaking) {
    running = null;
    byId("stop").disabled = true;
  }
}

function tick() {
  if (running) running.highlight();
  requestAnimationFrame(tick);
}

function fail(message) {
  const place = byId("error");
  place.textContent = message;
  place.hidden = !message;
}

async function speak(event) {
  event.preventDefault();
  if (running) running.stop();
  fail("");
  for (const id of ["words", "timings"]) byId(id).replaceChildren();
  for (const id of ["audio", "subtitles"]) byId(id).hidden = true;
  byId("result").hidden = false;
  byId("stop").disabled = false;
  byId("status").textContent = "waiting for the first piece";
  const speaking = new Speaking(byId("text").value);
  running = speaking;
  window.speaking = speaking; // for whoever looks with the browser's tools
  try {
    await speaking.run();
  } catch (error) {
    if (error.name === "AbortError") return;
    byId("status").textContent = "";
    fail(error.message);
    ended(speaking);
  }
}

function stop() {
  if (!running) return;
  running.stop();
  running = null;
  byId("stop").disabled = true;
  byId("status").textContent = "stopped";
}

async function start() {
  for (const [code, name] of Object.entries(LANGUAGES)) byId("lang").add(new Option(name, code));
  byId("speed").addEventListener("input", () => {
    byId("speed-shown").textContent = Number(byId("speed").value).toFixed(1);
  });
  byId("form").addEventListener("submit", speak);
  byId("stop").addEventListener("click", stop);
  byId("key").addEventListener("change", () => {
    fail("");
    voices();
  });
  tick();
  const ready = await fetch("ready");
  byId("synthetic").hidden = !(await ready.json()).synthetic;
  await voices();
}

// Whoever is faster than the list keeps the voice that they typed, and sees what speaking it said.
async function voices() {
  const key = byId("key").value;
  const answer = await fetch("v1/audio/voices", { headers: key ? { Authorization: `Bearer ${key}` } : {} });
  if (!answer.ok) {
    fail(await errorOf(answer));
    return;
  }
  const names = (await answer.json()).voices.map((voice) => voice.id);
  byId("voices").replaceChildren(...names.map((name) => new Option(name, name)));
  const voice = byId("voice");
  const untouched = voice.value === voice.defaultValue;
  if (untouched && !names.includes(voice.value) && names.length) voice.value = names[0];
}

start();
