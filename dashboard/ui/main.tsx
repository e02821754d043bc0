import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import './style.css';

interface Info {
  provider: string;
  handlers: string[];
}

function App() {
  const [info, setInfo] = useState<Info>();
  useEffect(() => {
    // Relative to …/ui/, so it holds under any prefix and behind any proxy.
    void fetch('../api/v1/info')
      .then((response) => response.json())
      .then(setInfo);
  }, []);
  if (!info) return <p>Loading…</p>;
  return (
    <>
      <h1>Millrace</h1>
      <p class="storage">{info.provider}</p>
      <ul>
        {info.handlers.map((name) => (
          <li key={name}>{name}</li>
        ))}
      </ul>
    </>
  );
}

render(<App />, document.body);
